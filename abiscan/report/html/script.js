"use strict";
page.start((data) => {
  const { $, make, copyable, state, readState, keep, listOf, setIn, leadsTo, walk, saveCsv } = page;

  const nameOf = (binding) => { const [mangled, demangled] = data.symbols[data.bindings[binding][0]]; return demangled || mangled; };
  const dotOf = (status) => {
    const dot = make("span", "dot i-" + data.statuses[status]);
    dot.append(make("span", "sr", data.statuses[status]));
    return dot;
  };
  const reveal = (id) => {
    const target = id && $(id);
    if (!target) return;
    for (let box = target; box; box = box.parentElement) {
      if (box.tagName === "DETAILS") box.open = true;
      if (box.classList.contains("off")) clearFilter();
    }
    target.scrollIntoView();
    const heading = target.matches("details") ? target.querySelector("summary") : target.querySelector("h3") || target;
    if (!heading.matches("summary, a, button")) heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    // A link with `=` is a whole state: that of the search, or a symbol.
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || link.hash.includes("=")) return;
    event.preventDefault();
    const id = link.getAttribute("href").slice(1);
    for (const name of ["symbol", "in"]) state.delete(name);
    state.set("at", id);
    keep(true);
    reveal(id);
  });
  document.querySelectorAll("details[id]").forEach((box) => box.addEventListener("toggle", () => {
    if (box.open) fill(box);
    if (printing) return;
    setIn("open", box.id, box.open);
    keep(false);
  }));

  // --- what a card has when it is opened ------------------------------------------------------------------------
  const symbolLink = (file, binding) => "#" + new URLSearchParams({ symbol: data.symbols[data.bindings[binding][0]][0], in: data.files[file][3] });
  const CHOICE = 8;
  // Links to symbols of some files, unresolved ones first.
  const symbolsOf = (numbers, anchor) => {
    const found = new Map();
    let total = 0;
    for (const file of numbers) {
      total += data.imports[file].length;
      for (const binding of data.imports[file]) {
        const [symbol, status] = data.bindings[binding];
        if (!found.has(symbol) || found.get(symbol)[0] > status) found.set(symbol, [status, file, binding]);
      }
    }
    if (!total) return [];
    const torch = data.owners.indexOf("torch");
    const rank = ([status, , binding]) => status * 2 + (data.bindings[binding][2] === torch ? 0 : 1);
    const box = make("div", "symbols");
    const list = make("ul");
    [...found.values()].sort((a, b) => rank(a) - rank(b)).slice(0, CHOICE).forEach(([status, file, binding]) => {
      const item = make("li");
      const link = make("a", "file", nameOf(binding));
      link.href = symbolLink(file, binding);
      item.append(dotOf(status), link);
      list.append(item);
    });
    const all = make("a", "", total === 1 ? "The import in the list" : "All " + total + " imports");
    all.href = "#imports";
    all.dataset.search = anchor;
    const item = make("li");
    item.append(all);
    list.append(item);
    box.append(make("p", "label", "Symbols, unresolved first"), list);
    return [box];
  };
  const listed = ([title, note, entries]) => {
    const box = make("details", "others");
    const list = make("ul", "made");
    for (const [head, text, tail] of entries) {
      const item = make("li");
      if (head) item.append(make("b", "", head));
      item.append(make("span", "", text));
      if (tail) item.append(make("i", "", tail));
      list.append(item);
    }
    box.append(make("summary", "", title), ...(note ? [make("p", "meta", note)] : []), list);
    return box;
  };
  const filled = new WeakSet();
  const fill = (box) => {
    if (filled.has(box)) return;
    filled.add(box);
    if (box.dataset.kind === "file") {
      const file = Number(box.dataset.file);
      box.append(...symbolsOf([file], box.id), ...data.lists[file].map(listed));
    } else if (box.dataset.kind === "wheel" && data.wheels.length > 1) {
      const inside = data.files.map((file, number) => number).filter((number) => data.files[number][2] === Number(box.dataset.wheel));
      box.querySelector(":scope > summary").after(...symbolsOf(inside, box.id));
    }
  };
  // A link to each card and finding, for the address that a reader wants to send.
  const linkTo = (address) => {
    const link = make("a", "anchor");
    link.href = address;
    link.title = "Link to this place";
    link.setAttribute("aria-label", link.title);
    return link;
  };
  document.querySelectorAll("article.find[id] > h3").forEach((heading) => heading.append(linkTo("#" + heading.parentElement.id)));
  document.querySelectorAll("li[id^='finding-'] > .meta:nth-child(2)").forEach((line) => line.append(linkTo("#" + line.parentElement.id)));
  let printing = false;
  const closed = [];
  addEventListener("beforeprint", () => {
    printing = true;
    document.querySelectorAll(".filebox").forEach((box) => { if (!box.closest(".nest")) fill(box); });
    document.querySelectorAll("details:not([open])").forEach((box) => { closed.push(box); box.open = true; });
    fillPaper();
  });
  addEventListener("afterprint", () => {
    closed.splice(0).forEach((box) => { box.open = false; });
    setTimeout(() => { printing = false; });
  });

  // --- matrix --------------------------------------------------------------------------------------------------
  const matrix = $("matrix");
  const marks = {};
  const rowsOf = matrix ? [...matrix.tBodies[0].rows] : [];
  let keepStop = () => {};
  const fold = (number, shown) => {
    rowsOf.forEach((row) => { if (row.dataset.group === number) row.classList.toggle("shut", !shown); });
    const button = matrix.querySelector('[data-open="' + number + '"]');
    if (button) button.setAttribute("aria-expanded", String(shown));
    keepStop();
  };
  if (matrix) {
    matrix.closest("section").querySelectorAll(".legend li").forEach((item) => {
      const kind = (item.firstElementChild.className.match(/c-([\w-]+)/) || [])[1];
      // An alarm's sample has the colour of another entry.
      if (kind && !item.firstElementChild.classList.contains("alarm")) marks[kind] = item.textContent.trim();
    });
    const buttons = [...matrix.querySelectorAll("[data-open]")];
    const folding = $("fold");
    const allOpen = () => buttons.every((button) => button.getAttribute("aria-expanded") === "true");
    const label = () => { if (folding) folding.textContent = allOpen() ? "Close all" : "Open all"; };
    const remember = () => {
      state.set("map", buttons.filter((b) => b.getAttribute("aria-expanded") === "true").map((b) => b.closest("tr").dataset.at).join(","));
      keep(false);
      label();
    };
    buttons.forEach((button) => {
      button.hidden = false;
      button.addEventListener("click", () => {
        fold(button.dataset.open, button.getAttribute("aria-expanded") !== "true");
        remember();
      });
    });
    if (folding) folding.addEventListener("click", () => {
      const shown = !allOpen();
      buttons.forEach((button) => fold(button.dataset.open, shown));
      remember();
    });
    matrix.closest("section").querySelector(".tools").hidden = false;
    const single = buttons.length === 1;
    buttons.forEach((button) => fold(button.dataset.open, single || listOf("map").includes(button.closest("tr").dataset.at)));
    label();
    keepStop = walk(matrix, (cell) => {
      const row = cell.parentElement;
      const column = cell.cellIndex - 1;
      const kind = cell.className.match(/c-([\w-]+)/)[1];
      const name = row.querySelector(".who a").textContent;
      const said = [make("b", "", "torch " + data.columns[column] + ": " + marks[kind]), make("span", "", name)];
      const known = data.cells[row.dataset.r + "," + column];
      if (known) {
        const [reason, count, names] = known;
        if (data.texts[reason]) said.push(make("div", "", data.texts[reason]));
        if (count) {
          const many = count > 1;
          const wheel = row.querySelector("button.open");
          said.push(make("div", "", wheel ? count + (many ? " files:" : " file:")
            : kind === "fails" ? count + (many ? " imports are not exported:" : " import is not exported:") : "changed:"));
        }
        names.forEach((text) => said.push(make("code", "", data.texts[text])));
        if (count > names.length) said.push(make("code", "", "and " + (count - names.length) + " more"));
      }
      if (cell.classList.contains("target")) said.push(make("div", "", "Target environment: the verdict is for this build."));
      if (matrix.querySelector("td.range") && row.querySelector("td.range")) {
        said.push(make("div", "", cell.classList.contains("range") ? "Requires-Dist allows this release." : "Requires-Dist does not allow this release."));
      }
      return said;
    });
    $("csv").addEventListener("click", () => {
      const lines = [[...data.csvHead, ...data.columns.map((name) => "torch " + name)]];
      for (const row of rowsOf) {
        lines.push([...data.csv[row.dataset.r], ...[...row.cells].slice(1).map((cell) => cell.textContent)]);
      }
      saveCsv("abiscan-releases.csv", lines);
    });
  }

  // --- one search over everything, and what fails alone --------------------------------------------------------
  const finder = $("finder");
  const query = $("q");
  const only = $("only");
  const cards = [...document.querySelectorAll(".find")];
  const texts = new Map();
  const textOf = (card) => {
    if (!texts.has(card)) {
      // A wheel's own text: that of its files is theirs.
      const parts = card.dataset.kind === "wheel" ? card.querySelectorAll(":scope > summary, :scope > .facts") : [card];
      const lists = card.dataset.kind === "file" ? [data.files[card.dataset.file][0], ...data.lists[card.dataset.file].flat(3)] : [];
      texts.set(card, [...[...parts].map((part) => part.textContent), ...lists].join(" ").toLowerCase());
    }
    return texts.get(card);
  };
  const clearFilter = () => { if (query) { query.value = ""; only.checked = false; filter(true); } };
  let showImports = () => {};
  let showSymbol = () => {};
  const filter = (remembered) => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (text) => words.every((word) => text.includes(word));
    const files = new Set();
    const fits = data.bindings.map((binding) => words.length > 0 && has(bindingText(binding)));
    if (words.length) {
      data.imports.forEach((list, file) => { if (list.some((binding) => fits[binding])) files.add(file); });
      for (const card of cards) {
        if (card.dataset.files !== undefined && has(card.dataset.head.toLowerCase())) card.dataset.files.split(",").forEach((f) => files.add(Number(f)));
        if (card.dataset.kind === "file" && has(textOf(card))) files.add(Number(card.dataset.file));
      }
    }
    const wheels = new Set();
    const whole = new Set();
    for (const card of cards) {
      if (card.dataset.kind !== "wheel" || !words.length) continue;
      const number = Number(card.dataset.wheel);
      if (has(textOf(card))) { wheels.add(number); whole.add(number); }
    }
    files.forEach((file) => wheels.add(data.files[file][2]));
    const counts = { wheel: [0, 0], file: [0, 0], cause: [0, 0], rule: [0, 0] };
    const matches = (card) => {
      if (only.checked && card.dataset.bad === "0") return false;
      if (!words.length) return true;
      if (card.dataset.kind === "wheel") return wheels.has(Number(card.dataset.wheel));
      if (card.dataset.kind === "file") return files.has(Number(card.dataset.file)) || whole.has(data.files[card.dataset.file][2]);
      return has(textOf(card));
    };
    for (const card of cards) {
      const shown = matches(card);
      card.classList.toggle("off", !shown);
      counts[card.dataset.kind][1] += 1;
      if (shown) counts[card.dataset.kind][0] += 1;
    }
    document.querySelectorAll("[data-fold]").forEach((section) => {
      section.classList.toggle("off", !section.querySelector(".find:not(.off)"));
    });
    document.querySelectorAll(".nest").forEach((box) => box.classList.toggle("off", !box.querySelector(".find:not(.off)")));
    for (const row of rowsOf) {
      const card = $(row.dataset.at);
      const own = row.dataset.files ? row.dataset.files.split(",").some((f) => !$(data.files[f][3]).classList.contains("off")) : card && !card.classList.contains("off");
      row.classList.toggle("off", !own || (only.checked && row.dataset.bad === "0"));
    }
    keepStop();
    const parts = [["wheel", "wheels"], ["file", "files"], ["cause", "causes"], ["rule", "rules"]]
      .filter(([kind]) => counts[kind][1]).map(([kind, word]) => counts[kind][0] + " of " + counts[kind][1] + " " + word);
    const found = showImports(words.length ? fits : null, words, only.checked);
    if (found !== undefined) parts.push(found);
    const nothing = Object.values(counts).every(([shown]) => !shown) && !fits.some(Boolean);
    $("count").textContent = !words.length && !only.checked ? "" : nothing ? "Nothing matches." : parts.join(" · ");
    state.set("q", query.value.trim());
    state.set("only", only.checked ? "failing" : "");
    if (remembered) keep(false);
  };
  const lowered = new Map();
  const bindingText = (binding) => {
    if (!lowered.has(binding)) {
      const [mangled, demangled] = data.symbols[binding[0]];
      lowered.set(binding, ((demangled || "") + "\n" + mangled + "\n" + data.texts[binding[3]]).toLowerCase());
    }
    return lowered.get(binding);
  };
  const begin = () => {
    if (!finder) return;
    finder.hidden = false;
    query.value = state.get("q") || "";
    only.checked = state.get("only") === "failing";
    filter(false);
    listOf("open").forEach((id) => { if ($(id) && $(id).tagName === "DETAILS") $(id).open = true; });
    if (matrix) rowsOf.forEach((row) => { if (row.querySelector("[data-open]") && listOf("map").includes(row.dataset.at)) fold(row.dataset.r, true); });
    document.querySelectorAll("details.find[open]").forEach(fill);
    if (state.get("symbol")) showSymbol(state.get("symbol"), state.get("in"));
    else reveal(state.get("at"));
  };
  if (finder) {
    query.addEventListener("input", () => filter(true));
    only.addEventListener("change", () => filter(true));
    finder.addEventListener("submit", (event) => { event.preventDefault(); const list = $("rows"); if (list) list.focus(); });
    leadsTo(query);
    addEventListener("hashchange", () => {
      readState();
      begin();
    });
  }
  // What does not bind, for paper: the list on the screen shows a part at a time.
  const fillPaper = () => {
    const paper = $("paper");
    if (!paper || paper.firstChild) return;
    const open = new Set(["missing", "unreachable", "undecided"].map((name) => data.statuses.indexOf(name)));
    const list = new Map();
    data.imports.forEach((numbers) => numbers.forEach((n) => { if (open.has(data.bindings[n][1])) list.set(n, (list.get(n) || 0) + 1); }));
    const total = data.imports.reduce((sum, numbers) => sum + numbers.length, 0);
    paper.append(make("p", "", list.size ? "Those that do not bind here, each with the number of files that import it:" : "All of the " + total + " bind."));
    const items = make("ul");
    [...list].slice(0, 5000).forEach(([n, count]) => {
      const [mangled, demangled] = data.symbols[data.bindings[n][0]];
      items.append(make("li", "", (demangled || mangled) + " (" + data.statuses[data.bindings[n][1]] + ", " + count + ")"));
    });
    if (list.size > 5000) items.append(make("li", "", "and " + (list.size - 5000) + " more"));
    paper.append(items, make("p", "", "The JSON report lists every import."));
  };

  // --- imports -------------------------------------------------------------------------------------------------
  const rows = $("rows");
  if (!rows) { begin(); return; }
  const HEIGHT = 44;
  const AHEAD = 6;
  const spacer = $("spacer");
  const detail = $("detail");
  const [statusBox, ownerBox, fileBox] = [$("status"), $("owner"), $("where")];
  // Pairs of a file and a binding; worst first, then by file: the order in which the statuses are listed.
  const all = [];
  data.imports.forEach((numbers, file) => numbers.forEach((binding) => all.push([file, binding])));
  all.sort((a, b) => data.bindings[a[1]][1] - data.bindings[b[1]][1] || a[0] - b[0]);
  const option = (box, value, text) => { const item = make("option", "", text); item.value = value; box.append(item); };
  const counts = new Map();
  const owners = new Set();
  all.forEach(([, n]) => {
    const [, status, owner] = data.bindings[n];
    counts.set(status, (counts.get(status) || 0) + 1);
    owners.add(owner);
  });
  data.statuses.forEach((name, n) => { if (counts.has(n)) option(statusBox, n, name + " (" + counts.get(n) + ")"); });
  data.owners.forEach((name, n) => { if (owners.has(n)) option(ownerBox, n, name); });
  const having = data.files.map((names, n) => n).filter((n) => data.imports[n].length);
  const wheelName = (n) => (data.files[n][2] >= 0 && data.wheels.length > 1 ? data.wheels[data.files[n][2]][0] + " · " : "");
  // A file is chosen by its id; so is a wheel, for all of its files.
  if (data.wheels.length > 1) data.wheels.forEach(([name, anchor], wheel) => { if (having.filter((n) => data.files[n][2] === wheel).length > 1) option(fileBox, anchor, name); });
  having.forEach((n) => option(fileBox, data.files[n][3], wheelName(n) + data.files[n][1]));
  if (having.length < 2) fileBox.parentElement.hidden = true;

  const filters = () => [["status", statusBox.value], ["owner", ownerBox.value], ["file", fileBox.value]];
  let found = all;
  let selected = -1;
  let drawn = [-1, -1];
  const draw = (force) => {
    const from = Math.max(0, Math.floor(rows.scrollTop / HEIGHT) - AHEAD);
    const to = Math.min(found.length, Math.ceil((rows.scrollTop + rows.clientHeight) / HEIGHT) + AHEAD);
    if (!force && drawn[0] === from && drawn[1] === to) return;
    drawn = [from, to];
    const made = [spacer];
    for (let n = from; n < to; n += 1) {
      const [file, binding] = found[n];
      const [, status, , provider] = data.bindings[binding];
      const row = make("div", "row");
      row.id = "row-" + n;
      row.dataset.n = n;
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", String(n === selected));
      row.setAttribute("aria-setsize", found.length);
      row.setAttribute("aria-posinset", n + 1);
      row.style.top = n * HEIGHT + "px";
      row.append(dotOf(status), make("span", "name", nameOf(binding)));
      row.append(make("span", "of", data.texts[provider] || data.files[file][1]));
      made.push(row);
    }
    rows.replaceChildren(...made);
    if (selected >= from && selected < to) rows.setAttribute("aria-activedescendant", "row-" + selected);
    else rows.removeAttribute("aria-activedescendant");
  };
  const unbound = new Set(["missing", "unreachable", "undecided"].map((name) => data.statuses.indexOf(name)));
  showImports = (fits, words, failing) => {
    const [status, owner] = [statusBox, ownerBox].map((box) => (box.value === "" ? -1 : Number(box.value)));
    const where = fileBox.value;
    const wheel = data.wheels.findIndex(([, anchor]) => anchor === where);
    found = all.filter(([of, n]) => (!fits || fits[n]) && (!where || data.files[of][3] === where || data.files[of][2] === wheel)
      && (status < 0 || data.bindings[n][1] === status) && (owner < 0 || data.bindings[n][2] === owner)
      && (!failing || unbound.has(data.bindings[n][1])));
    selected = -1;
    rows.scrollTop = 0;
    spacer.style.height = found.length * HEIGHT + "px";
    const words2 = found.length + " of " + all.length + " imports";
    $("found").textContent = found.length === all.length ? "" : words2;
    for (const [name, value] of filters()) state.set(name, value);
    draw(true);
    return words2;
  };
  const choose = (n) => {
    if (!found.length) return;
    selected = Math.max(0, Math.min(n, found.length - 1));
    const top = selected * HEIGHT;
    if (top < rows.scrollTop) rows.scrollTop = top;
    else if (top + HEIGHT > rows.scrollTop + rows.clientHeight) rows.scrollTop = top + HEIGHT - rows.clientHeight;
    draw(true);
    const [file, binding] = found[selected];
    const [symbol, status, owner, provider, windows, causes] = data.bindings[binding];
    const [mangled, demangled] = data.symbols[symbol];
    const list = make("dl");
    const fact = (name, value) => { if (value) list.append(make("dt", "", name), make("dd", "", value)); };
    const name = make("p", "label", "Name");
    name.append(linkTo(symbolLink(file, binding)));
    detail.replaceChildren(name, copyable(demangled || mangled));
    if (demangled) detail.append(make("p", "label", "Mangled"), copyable(mangled));
    fact("status", data.statuses[status]);
    fact("owner", data.owners[owner]);
    fact("provider", data.texts[provider]);
    fact("exported by torch", data.texts[windows]);
    fact("causes", data.texts[causes]);
    fact("file", data.files[file][0]);
    detail.append(list);
  };
  const pick = (n) => {
    choose(n);
    if (selected < 0) return;
    new URLSearchParams(symbolLink(...found[selected]).slice(1)).forEach((value, name) => state.set(name, value));
    state.delete("at");
    keep(false);
  };
  // The first import of a mangled name, in the file with an id if there is one: a link to it opens it.
  showSymbol = (mangled, anchor) => {
    const isIt = ([file, binding]) => data.symbols[data.bindings[binding][0]][0] === mangled && (!anchor || data.files[file][3] === anchor);
    let place = found.findIndex(isIt);
    if (place < 0) {
      [query.value, statusBox.value, ownerBox.value, fileBox.value, only.checked] = ["", "", "", "", false];
      filter(false);
      place = found.findIndex(isIt);
    }
    if (place < 0) return;
    choose(place);
    rows.scrollTop = Math.max(0, selected * HEIGHT - rows.clientHeight / 3);
    draw(true);
    $("imports").scrollIntoView();
    rows.focus({ preventScroll: true });
  };
  let pending = 0;
  rows.addEventListener("scroll", () => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(() => draw(false));
  }, { passive: true });
  rows.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row) pick(Number(row.dataset.n));
  });
  rows.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(rows.clientHeight / HEIGHT) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (!(event.key in moves)) return;
    event.preventDefault();
    const move = moves[event.key];
    pick(Math.abs(move) === Infinity ? (move > 0 ? found.length - 1 : 0) : selected < 0 ? 0 : selected + move);
  });
  rows.addEventListener("focus", () => { if (selected < 0 && rows.matches(":focus-visible")) choose(0); });
  [statusBox, ownerBox, fileBox].forEach((box) => box.addEventListener("change", () => filter(true)));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-search]");
    if (!link) return;
    [query.value, statusBox.value, ownerBox.value, only.checked] = ["", "", "", false];
    fileBox.value = link.dataset.search;
    filter(true);
  });
  addEventListener("resize", () => draw(true));
  $("narrow").hidden = false;
  $("browser").hidden = false;
  filters().forEach(([name], n) => { [statusBox, ownerBox, fileBox][n].value = state.get(name) || ""; });
  begin();
});
