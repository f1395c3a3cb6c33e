// What `abiscan explain` does with a message, where that needs no code and no installed torch: match_messages.py and
// answer_messages.py, over the same rows.
import { $, command, linked, load, make, searching } from "./site.js";

const { rows, answers, finders, causes, gpus, question } = await load("messages.bin");
const [BEFORE, AFTER, LINE, AROUND, MOST, MOST_WITH_QUESTION] = [1024, 2048, 6144, 8192, 200, 2000];

const compiled = new Map();
const pattern = (source) => {
  if (!compiled.has(source)) compiled.set(source, new RegExp(source));
  return compiled.get(source);
};
const byAnchor = new Map();
for (const row of rows) for (const anchor of row.anchors) byAnchor.set(anchor, [...(byAnchor.get(anchor) || []), row]);

const CONVERSIONS = {
  capability: (text) => "sm_" + text.replaceAll(".", ""),
  driver: (number) => Math.floor(number / 1000) + "." + Math.floor((number % 1000) / 10),
  named: (name) => {
    const plain = name.toLowerCase().replace(/[^a-z0-9]/g, "");
    const found = gpus.find(([source]) => pattern(source).test(plain));
    return found ? "sm_" + found[1].replace(".", "") : name;
  },
  operator: (text) => text.replace(/\W.*\W|\W/g, "::"),
  so: (name) => "lib" + name + ".so",
  dylib: (name) => "lib" + name + ".dylib",
  python: (digits) => digits[0] + "." + digits.slice(1),
  list: (text) => text.replaceAll(",", " ").trim().split(/\s+/).join(", "),
};
const take = (match, values) => {
  for (const [group, text] of Object.entries(match.groups || {})) {
    const [name, conversion] = group.split("__");
    if (text && !(name in values)) values[name] = CONVERSIONS[conversion] ? CONVERSIONS[conversion](text) : text;
  }
};

// The place of an anchor: its line ends at a line feed, or at the `\n` of a quoted text.
const placeOf = (text, at, word) => {
  const low = Math.max(0, at - LINE);
  const high = Math.min(text.length, at + word.length + LINE);
  const lead = text.slice(low, at);
  let start = low + lead.lastIndexOf("\n") + 1;
  const written = text.slice(start, at).lastIndexOf("\\n");
  if (written >= 0) start += written + 2;
  const ends = ["\n", "\\n"].map((end) => text.indexOf(end, at)).filter((end) => end >= 0 && end < high);
  const end = Math.min(high, ...ends);
  const following = (lines) => {
    const part = text.slice(end, end + AROUND);
    let to = 0;
    for (let line = 0; line < lines; line += 1) {
      const next = part.indexOf("\n", to + 1);
      if (next < 0) return part;
      to = next;
    }
    return part.slice(0, to);
  };
  const preceding = (lines) => {
    const part = text.slice(Math.max(0, start - AROUND), start);
    let from = part.length;
    for (let line = 0; line < lines; line += 1) {
      const next = from > 1 ? part.lastIndexOf("\n", from - 2) : -1;
      if (next < 0) return part;
      from = next + 1;
    }
    return part.slice(from);
  };
  return { text, at, word, before: text.slice(start, at), rest: text.slice(at + word.length, end), line: text.slice(start, end), following, preceding };
};
const lineOf = (hit) => hit.before.slice(-BEFORE) + hit.word + hit.rest.slice(0, AFTER);
const aroundOf = (hit, row, finder) => {
  const lines = (finder && finder.lines) || row.around;
  return hit.preceding(lines) + hit.line + hit.following(lines);
};
const windows = {
  before: (hit) => [hit.before.slice(-BEFORE)],
  after: (hit) => [(hit.rest + hit.following(1)).slice(0, AFTER)],
  line: (hit) => [lineOf(hit)],
  below: (hit, row, finder) => [hit.rest + hit.following(finder.lines || row.around)],
  around: (hit, row, finder) => [lineOf(hit), aroundOf(hit, row, finder)],
};
const searchWith = (hit, row, name) => {
  const finder = finders[name];
  return windows[finder.where](hit, row, finder).map((text) => pattern(finder.pattern).exec(text)).find(Boolean);
};
// What a person asks about a message on another line, above or below a log.
const typedParts = (text) => {
  const half = MOST_WITH_QUESTION / 2;
  if (text.length <= MOST_WITH_QUESTION) return [text];
  const last = text.slice(-half);
  return [text.slice(0, half), last.includes("\n") ? last.slice(last.indexOf("\n") + 1) : ""];
};
const searchQuestions = (hit, finder) => {
  if (!finder.asks) return null;
  const questions = typedParts(hit.text).flatMap((part) => part.match(new RegExp(question, "g")) || []);
  return questions.map((text) => pattern(finder.pattern).exec(text)).find(Boolean);
};
const collect = (hit, row, names, values) => {
  for (const name of names || []) {
    const match = searchWith(hit, row, name) || searchQuestions(hit, finders[name]);
    if (match) take(match, values);
  }
};

// The values of a row at a place, or null. A row with a reader applies only perhaps.
const match = (hit, row) => {
  if (row.notProse) {
    const before = hit.before.slice(-BEFORE).trimEnd();
    if (/[\p{L}\p{N}]$/u.test(before) && !before.slice(-48).includes("rror")) return null;
  }
  const values = { ...row.set };
  let quote = hit.word;
  for (const [key, text] of [["before", hit.before.slice(-BEFORE)], ["after", (hit.rest + hit.following(1)).slice(0, AFTER)], ["line", lineOf(hit)]]) {
    if (!row[key]) continue;
    const found = pattern(row[key]).exec(text);
    if (!found) return null;
    quote = key === "before" ? found[0] + quote : key === "after" ? quote + found[0] : found[0] || quote;
    take(found, values);
  }
  if (row.requires || row.unless) {
    const around = aroundOf(hit, row);
    if ((row.unless || []).some((word) => around.includes(word)) || !(row.requires || []).every((word) => around.includes(word))) return null;
  }
  for (const name of row.mustFind || []) {
    const found = searchWith(hit, row, name);
    if (!found) { if (row.reader) continue; return null; }
    take(found, values);
  }
  collect(hit, row, row.find, values);
  if (row.answer) collect(hit, row, answers[row.answer].find, values);
  values.quote = quote.trim().replace(/\s+/g, " ");
  return values;
};

const order = (text) => { const found = /^(\d+)\.(\d+)(?:\.(\d+))?/.exec(text || ""); return found && found.slice(1).map((part) => Number(part || 0)); };
const holds = (values) => ([name, relation, wanted, negated]) => {
  const value = values[name];
  if (relation === "<" || relation === ">=") {
    const [here, there] = [order(value), order(wanted)];
    if (!here || !there) return false;
    const first = here.findIndex((part, at) => part !== there[at]);
    const less = first >= 0 && here[first] < there[first];
    return (relation === "<" ? less : !less) !== negated;
  }
  return (relation ? value === wanted : Boolean(value)) !== negated;
};
const SAFE = /^[A-Za-z0-9_.+/@:~][A-Za-z0-9_.+/@:~-]{0,255}$/;
const fill = (template, values, isCommand) => {
  let whole = true;
  const text = template.replace(/\{([a-z][a-z0-9_]*)(?:\|([^{}\n]*))?\}/g, (place, name, otherwise) => {
    let value = values[name];
    if (value !== undefined && isCommand && !SAFE.test(value)) value = otherwise || "";
    if (!value && otherwise === undefined) whole = false;
    return value || otherwise || "";
  });
  return whole ? text : null;
};
const filled = (lines, values, isCommand) => lines.filter((line) => line.when.every(holds(values))).map((line) => fill(line.text, values, isCommand)).filter((text) => text !== null);

// The causes of a row, best first. `sure`: what the command would say, whatever torch is installed.
const places = Object.keys(causes);
const answered = ({ row, values, sure }) => {
  if (!row.answer) return { row, values, sure: false, causes: [] };
  const answer = answers[row.answer];
  const best = new Map();
  for (const cause of answer.causes) {
    if (sure && !cause.when.every(holds(values))) continue;
    if (!best.has(cause.cause) || best.get(cause.cause).score < cause.score) best.set(cause.cause, cause);
  }
  const found = [...best.values()].sort((a, b) => b.score - a.score || places.indexOf(a.cause) - places.indexOf(b.cause));
  const depends = answer.computed || answer.causes.some((cause) => cause.depends);
  return { row, values, sure: sure && !depends && found.length > 0, causes: found, answer };
};

// Every message of a text, in order.
export const explain = (text) => {
  const clean = text.replace(/\x1b\[[0-9;?]*[ -/]*[@-~]/g, "").replace(/\r\n?/g, "\n").replace(/[\u00a0\u202f\u3000]/g, " ")
    .replace(/^(?:ROCM used to build PyTorch|(?:HIP|MIOpen) runtime version): {1,8}N\/A(?!\S)/gm, "");
  const hits = [];
  let rank = 0;
  for (const anchor of byAnchor.keys()) {
    for (let at = clean.indexOf(anchor), count = 0; at >= 0 && count < 2000; at = clean.indexOf(anchor, at + anchor.length), count += 1) hits.push([at, rank, anchor]);
    rank += 1;
  }
  hits.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const found = new Map();
  for (const [at, , anchor] of hits.slice(0, 5000)) {
    const hit = placeOf(clean, at, anchor);
    for (const row of byAnchor.get(anchor)) {
      const values = match(hit, row);
      if (!values) continue;
      const perhaps = row.reader || row.subject;
      // What a symbol's row has no pattern for, a reader finds: here the mangled name nearby.
      if (row.subject === "symbol" && !values.text) values.text = (/_Z[A-Za-z0-9_]{3,}/.exec(hit.rest + hit.following(1)) || /_Z[A-Za-z0-9_]{3,}/.exec(hit.line) || [""])[0];
      const { source_file: file, source_line: line, quote, ...distinct } = values;
      const key = JSON.stringify([row.answer || row.id, distinct]);
      if (!found.has(key)) found.set(key, { ...answered({ row, values, sure: !perhaps }), at, line: hit.line.trim().slice(0, 400) });
      if (!row.reader) break;
    }
    if (found.size >= MOST) break;
  }
  let results = [...found.values()].sort((a, b) => a.at - b.at);
  // A library that is not in one folder of the search order may be in a later one.
  for (const row of new Set(results.map((each) => each.row).filter((each) => each.refutedBy))) {
    const last = new Map([...clean.matchAll(new RegExp(row.refutedBy, "g"))].map((match) => [match.groups.text.toLowerCase(), match.index]));
    results = results.filter((each) => each.row !== row || (last.get(each.values.text.toLowerCase()) || 0) <= each.at);
  }
  // Of several answers about one thing at one place the first counts.
  const subjects = new Set();
  results = results.filter(({ answer, values, at, sure }) => {
    if (!answer || !sure) return true;
    const subject = JSON.stringify([answer.kind, fill(answer.text, values, false) || values.quote, at]);
    return !subjects.has(subject) && subjects.add(subject);
  });
  // A row that applies only perhaps is no other message.
  const alone = (each) => Boolean(each.answer && each.answer.onlyAlone);
  if (results.some((each) => !alone(each) && (each.sure || (each.row.subject && !each.row.reader)))) results = results.filter((each) => !alone(each));
  if (results.some((each) => each.row.subject === "symbol")) results = results.filter((each) => !(each.answer && each.answer.repeatsSymbol));
  return results.sort((a, b) => b.sure - a.sure);
};

const page = (cause) => linked("../causes/" + cause + "/", cause);
const prose = (text) => text.split("`").map((part, at) => (at % 2 ? make("code", "", part) : part));
const items = (lines) => make("ul", "", ...lines.map((line) => make("li", "", ...prose(line))));
// A line that a shell can run is a command; what follows its ` # ` is not.
const SHELL = /^(?:or:? )?((?:[A-Z_]+=\S+ )*(?:abiscan|apt-get|ccache|cmake|conda|export|git|ldd|mamba|nvcc|nvidia-smi|pip|python3?|rm|rocminfo|sudo|uv)\b.*?)(?:\s+# (.*))?$/;
const steps = (lines) => lines.flatMap((line) => {
  const found = SHELL.exec(line);
  return found ? [...(found[2] ? [make("p", "", ...prose(found[2][0].toUpperCase() + found[2].slice(1) + ":"))] : []), command(found[1])] : [make("p", "", ...prose(line))];
});
const command_of = "abiscan explain - < error.txt";
const whole = (words) => [make("p", "", words, " With the message in error.txt:"), command(command_of)];
const card = async (result) => {
  const box = make("article", "abi-result");
  const { row, values } = result;
  box.dataset.row = row.id;
  box.dataset.sure = String(result.sure);
  box.dataset.causes = result.causes.map((each) => each.cause).join(" ");
  box.append(make("p", "abi-soft", make("code", "", result.sure ? values.quote : result.line)));
  if (result.sure) {
    const [first, ...others] = result.causes;
    box.prepend(make("h2", "", causes[first.cause]));
    box.append(items(filled(first.evidence, values, false)));
    const fix = filled(first.fix, values, true);
    box.append(make("h3", "", "Fix"), ...(fix.length ? steps(fix) : whole("The fix depends on the installed torch.")));
    box.append(make("p", "", "All fixes, for each situation: ", page(first.cause), ...(others.length ? [". Other possible causes: ", ...others.flatMap((each, at) => [at ? ", " : "", page(each.cause)])] : []), "."));
    if (fix.length && fix.length < first.fix.length) box.append(...whole("The command has further fixes for the installed torch."));
  } else if (row.subject === "symbol" && values.text) {
    box.prepend(make("h2", "", "A symbol is missing."));
    // The index is loaded for a symbol only; without it the link remains.
    const history = await import("./symbols.js").then((index) => index.byMangled(values.text)).catch(() => []);
    box.append(...history, make("p", "", linked("../symbol-history/#" + new URLSearchParams({ q: values.text }), "Symbol history")), make("p", "", "The cause depends on the installed torch and on the file."));
  } else {
    const kinds = { symbol: "A symbol is missing.", library: "A library is missing.", version: "A symbol version is missing." };
    box.prepend(make("h2", "", kinds[row.subject] || "The cause depends on more than this message."));
    if (result.causes.length) box.append(make("p", "", "Possible causes: ", ...result.causes.flatMap((each, at) => [at ? ", " : "", page(each.cause)]), "."));
  }
  return box;
};

const nothing = () => [make("p", "abi-bad", "No known message was found."), ...whole("The command also reads names without a message, and texts that are damaged or quoted.")];
searching($("error-form"), $("error"), $("error-result"), async (text) => {
  const found = explain(text);
  if (!found.length) return nothing();
  const rest = found.every((each) => each.sure) ? [] : whole("The command reads the rest of the message, the file and the installed torch.");
  return [...await Promise.all(found.map(card)), ...rest];
});
document.documentElement.classList.add("ready");
