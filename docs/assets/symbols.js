// The release index: symbols by mangled or qualified name, and how they are shown.
import { command, load, make } from "./site.js";

const MOST = 100;
export const about = await load("symbols/index.json");

// The last part whose first name is before `name`: parts are sorted.
const partOf = (firsts, name) => {
  let [low, high] = [0, firsts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (firsts[middle] < name) low = middle + 1; else high = middle;
  }
  return Math.max(0, low - 1);
};

// The rows of a table whose name begins with `prefix`: they are in one part or two.
const rowsWith = async (table, prefix) => {
  const firsts = about[table];
  const found = [];
  // The part before the first that begins with the prefix may end with it.
  for (let part = partOf(firsts, prefix), loads = 1; part < firsts.length; part += 1, loads += 1) {
    const { histories, rows } = await load("symbols/" + table + "-" + part + ".bin");
    for (const row of rows) if (row[0].startsWith(prefix)) found.push({ name: row[0], mangled: row[1], text: row[2] || row[1], history: histories && histories[row[3]] });
    if (part + 1 < firsts.length && !firsts[part + 1].startsWith(prefix)) break;
    found.cut = loads === 2 && part + 1 < firsts.length;
    if (found.cut) break;
  }
  return found;
};

// `at::Tensor::data_ptr` of `float* at::Tensor::data_ptr<float>() const`: without template arguments, parameters and
// return type. What would end a name inside of it is a character of no name meanwhile.
const HIDDEN = ["(anonymous namespace)", "operator()", "operator<=>", "operator<<=", "operator>>=", "operator->*", "operator<<", "operator>>", "operator<=", "operator>=", "operator->", "operator<", "operator>", "operator "];
export const qualified = (text) => {
  let rest = text.replace(/^(?:vtable|typeinfo(?: name)?|VTT|guard variable) for /, "");
  HIDDEN.forEach((word, at) => { rest = rest.replaceAll(new RegExp("(?<!\\w)" + word.replace(/[()*]/g, "\\$&"), "g"), String.fromCharCode(0xe000 + at)); });
  // What is in a function, as a lambda, is listed with it.
  const local = rest.search(/\)(?: const)?::/);
  if (local >= 0) rest = rest.slice(0, local + 1);
  // Characters outside of template arguments, and where a parenthesis opens outside of others.
  let [plain, opened, depth, angle] = ["", -1, 0, 0];
  for (const character of rest) {
    if (character === "<") angle += 1;
    else if (character === ">") angle -= 1;
    else if (!angle) {
      if (character === "(" && !depth) opened = plain.length;
      depth += character === "(" ? 1 : character === ")" ? -1 : 0;
      plain += character;
    }
  }
  let name = (opened < 0 ? plain : plain.slice(0, opened)).trim().split(/\s/).pop().replace(/^[*&]+/, "");
  HIDDEN.forEach((word, at) => { name = name.replaceAll(String.fromCharCode(0xe000 + at), word); });
  return name;
};

// One square a release, in the order of versions; the text beside it says the same.
const strip = ([ranges]) => {
  const place = (version) => about.releases.indexOf(version);
  const spans = ranges.split(/, | and /).map((range) => range.split("-")).map(([first, last]) => [place(first), place(last || first)]);
  const row = make("div", "abi-strip");
  row.setAttribute("aria-hidden", "true");
  about.releases.forEach((version, at) => {
    const square = make("span", spans.some(([first, last]) => first <= at && at <= last) ? "abi-on" : "");
    square.title = "torch " + version;
    row.append(square);
  });
  return make("div", "abi-scroll", row, make("p", "abi-ends", make("span", "", about.releases[0]), make("span", "", about.releases.at(-1))));
};

const card = (row, open) => {
  const box = make("details", "abi-symbol", make("summary", "", make("code", "", row.text), make("span", "abi-soft", "torch " + row.history[0])));
  box.open = open;
  box.dataset.mangled = row.mangled;
  box.dataset.exported = row.history[0];
  const libraries = make("ul");
  for (const [library, ranges] of row.history[1]) libraries.append(make("li", "", make("code", "", library), ": torch " + ranges));
  box.append(strip(row.history), libraries, command(row.mangled));
  return box;
};

// The most similar first: those whose text begins as that of a symbol does.
const similar = (rows, text) => {
  const same = new Map(rows.map((row) => [row, [...row.text].findIndex((character, at) => character !== text[at])]));
  return rows.sort((a, b) => same.get(b) - same.get(a));
};
const listed = (rows, open) => rows.slice(0, MOST).map((row) => card(row, open(row)));
const heading = (text) => make("h2", "", text);
const more = (rows, cut) => (cut || rows.length > MOST ? [make("p", "", "There are more: a longer name lists fewer.")] : []);

const none = (name, kind) => [
  make("p", "abi-bad", "No release of torch " + about.releases[0] + "-" + about.releases.at(-1) + " for Linux on " + about.machine + " exports a symbol with " + kind + " ", make("code", "", name), ", or it is not a symbol of torch."),
  make("p", "", "For the cause and similar symbols:"),
  command("abiscan explain '" + name.replaceAll("'", "") + "'"),
];

export const byMangled = async (given) => {
  const name = given.replace(/^__Z/, "_Z").replace(/@.*/, "");
  const found = await rowsWith("mangled", name);
  if (!found.length) return none(name, "the mangled name or prefix");
  const exact = found.find((row) => row.name === name);
  const part = (exact || found[0]).mangled;
  const { histories, rows } = await load("symbols/names-" + part + ".bin");
  const full = (row) => ({ name: row[0], mangled: row[1], text: row[2] || row[1], history: histories[row[3]] });
  if (exact) {
    const row = full(rows.find((each) => each[1] === name));
    const others = similar(rows.filter((each) => each[0] === row.name && each[1] !== name).map(full), row.text);
    return [card(row, true), ...(others.length ? [heading("Other symbols of " + row.name), ...listed(others, () => false), ...more(others, false)] : [])];
  }
  const near = rows.filter((each) => each[1].startsWith(name)).map(full);
  return [...listed(near, () => near.length === 1), ...more(near, found.length > near.length)];
};

export const byName = async (given) => {
  const name = qualified(given);
  const found = name ? await rowsWith("names", name) : [];
  if (!found.length) return none(given, "the qualified name or prefix");
  const whole = found.filter((row) => row.text === given);
  const chosen = whole.length ? whole : /[(<]/.test(given) ? found.filter((row) => row.text.includes(given)) : [];
  const others = found.filter((row) => !chosen.includes(row));
  const rest = chosen.length ? similar(others, chosen[0].text) : others.sort((a, b) => (b.name === name) - (a.name === name));
  const names = new Set(found.map((row) => row.name)).size;
  return [...listed(chosen, () => chosen.length === 1), heading(chosen.length ? "Other symbols of " + name : rest.length + (rest.length === 1 ? " symbol" : " symbols") + (names > 1 ? " of " + names + " names" : "")),
    ...listed(rest, () => found.length === 1), ...more(rest, found.cut)].filter((element) => rest.length || element.tagName !== "H2");
};
