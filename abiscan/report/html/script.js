"use strict";
(() => {
  const { $, data, make, copyable, state, readState, keep, listOf, setIn, leadsTo, walk, saveCsv } = page;

  const reveal = (id) => {
    const target = id && $(id);
    if (!target) return;
    for (let box = target; box; box = box.parentElement) {
      if (box.tagName === "DETAILS") box.open = true;
      if (box.classList.contains("off")) clearFilter();
    }
    target.scrollIntoView();
    const heading = target.tagName === "DETAILS" ? target.querySelector("summary") : target;
    if (!heading.matches("summary, a, button")) heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const id = link.getAttribute("href").slice(1);
    state.set("at", id);
    keep(true);
    reveal(id);
  });
  document.querySelectorAll("details[id]").forEach((box) => box.addEventListener("toggle", () => {
    if (printing) return;
    setIn("open", box.id, box.open);
    keep(false);
  }));
  let printing = false;
  const closed = [];
  addEventListener("beforeprint", () => {
    printing = true;
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
      state.set("map", buttons.filter((b) => b.getAttribute("aria-expanded") === "true").map((b) => b.dataset.open).join(","));
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
    buttons.forEach((button) => fold(button.dataset.open, single || listOf("map").includes(button.dataset.open)));
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
      texts.set(card, [...parts].map((part) => part.textContent).join(" ").toLowerCase());
    }
    return texts.get(card);
  };
  const clearFilter = () => { if (query) { query.value = ""; only.checked = false; filter(true); } };
  let showImports = () => {};
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
      const own = row.dataset.files ? row.dataset.files.split(",").some((f) => !$("file-" + f).classList.contains("off")) : card && !card.classList.contains("off");
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
    if (matrix) rowsOf.forEach((row) => { if (row.querySelector("[data-open]") && listOf("map").includes(row.dataset.r)) fold(row.dataset.r, true); });
    reveal(state.get("at"));
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
  const wheelName = (n) => (data.files[n][2] >= 0 && data.wheels.length > 1 ? data.wheels[data.files[n][2]] + " · " : "");
  having.forEach((n) => option(fileBox, n, wheelName(n) + data.files[n][1]));
  if (having.length < 2) fileBox.parentElement.hidden = true;

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
      const [symbol, status, , provider] = data.bindings[binding];
      const row = make("div", "row");
      row.id = "row-" + n;
      row.dataset.n = n;
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", String(n === selected));
      row.setAttribute("aria-setsize", found.length);
      row.setAttribute("aria-posinset", n + 1);
      row.style.top = n * HEIGHT + "px";
      const dot = make("span", "dot i-" + data.statuses[status]);
      dot.append(make("span", "sr", data.statuses[status]));
      row.append(dot, make("span", "name", data.symbols[symbol][1] || data.symbols[symbol][0]));
      row.append(make("span", "of", data.texts[provider] || data.files[file][1]));
      made.push(row);
    }
    rows.replaceChildren(...made);
    if (selected >= from && selected < to) rows.setAttribute("aria-activedescendant", "row-" + selected);
    else rows.removeAttribute("aria-activedescendant");
  };
  const unbound = new Set(["missing", "unreachable", "undecided"].map((name) => data.statuses.indexOf(name)));
  showImports = (fits, words, failing) => {
    const [status, owner, file] = [statusBox, ownerBox, fileBox].map((box) => (box.value === "" ? -1 : Number(box.value)));
    found = all.filter(([of, n]) => (!fits || fits[n]) && (file < 0 || of === file)
      && (status < 0 || data.bindings[n][1] === status) && (owner < 0 || data.bindings[n][2] === owner)
      && (!failing || unbound.has(data.bindings[n][1])));
    selected = -1;
    rows.scrollTop = 0;
    spacer.style.height = found.length * HEIGHT + "px";
    const words2 = found.length + " of " + all.length + " imports";
    $("found").textContent = found.length === all.length ? "" : words2;
    [["status", statusBox], ["owner", ownerBox], ["file", fileBox]].forEach(([name, box]) => state.set(name, box.value));
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
    detail.replaceChildren();
    if (demangled) detail.append(make("p", "label", "Name"), copyable(demangled));
    detail.append(make("p", "label", demangled ? "Mangled" : "Name"), copyable(mangled));
    fact("status", data.statuses[status]);
    fact("owner", data.owners[owner]);
    fact("provider", data.texts[provider]);
    fact("exported by torch", data.texts[windows]);
    fact("causes", data.texts[causes]);
    fact("file", data.files[file][0]);
    detail.append(list);
  };
  let pending = 0;
  rows.addEventListener("scroll", () => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(() => draw(false));
  }, { passive: true });
  rows.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row) choose(Number(row.dataset.n));
  });
  rows.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(rows.clientHeight / HEIGHT) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (!(event.key in moves)) return;
    event.preventDefault();
    const move = moves[event.key];
    choose(Math.abs(move) === Infinity ? (move > 0 ? found.length - 1 : 0) : selected < 0 ? 0 : selected + move);
  });
  rows.addEventListener("focus", () => { if (selected < 0 && rows.matches(":focus-visible")) choose(0); });
  [statusBox, ownerBox, fileBox].forEach((box) => box.addEventListener("change", () => filter(true)));
  document.querySelectorAll("[data-search]").forEach((link) => link.addEventListener("click", () => {
    [query.value, statusBox.value, ownerBox.value, only.checked] = ["", "", "", false];
    fileBox.value = link.dataset.search;
    filter(true);
  }));
  addEventListener("resize", () => draw(true));
  $("narrow").hidden = false;
  $("browser").hidden = false;
  [["status", statusBox], ["owner", ownerBox], ["file", fileBox]].forEach(([name, box]) => { box.value = state.get(name) || ""; });
  begin();
})();
