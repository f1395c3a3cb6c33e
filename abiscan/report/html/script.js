"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  // Every name goes into the page as a text node; nothing here writes markup.
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };

  // --- theme ---------------------------------------------------------------------------------------------------
  const theme = $("theme");
  const themes = ["auto", "light", "dark"];
  const remembered = () => { try { return localStorage.getItem("abiscan-theme"); } catch { return null; } };
  const setTheme = (name) => {
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    theme.textContent = "Theme: " + name;
    try { localStorage.setItem("abiscan-theme", name); } catch { /* a page opened from a file may keep nothing */ }
  };
  theme.hidden = false;
  setTheme(themes.includes(remembered()) ? remembered() : "auto");
  theme.addEventListener("click", () => {
    const now = document.documentElement.dataset.theme || "auto";
    setTheme(themes[(themes.indexOf(now) + 1) % themes.length]);
  });

  // --- copy ----------------------------------------------------------------------------------------------------
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = make("textarea", "sr");
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const done = await copy(button.parentElement.querySelector("code").textContent);
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    button.focus();
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

  // --- state: in the address, so that a link shows what its sender saw -------------------------------------------
  document.documentElement.classList.add("js");
  const state = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  const anchor = () => { try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; } };
  if (!location.hash.includes("=")) state.set("at", anchor());
  const keep = (push) => {
    for (const [name, value] of [...state]) if (!value) state.delete(name);
    try { history[push ? "pushState" : "replaceState"](null, "", "#" + state); } catch { /* a frame without an address of its own */ }
  };
  const listOf = (name) => (state.get(name) || "").split(",").filter(Boolean);
  const setIn = (name, item, on) => {
    const items = listOf(name).filter((other) => other !== item);
    state.set(name, (on ? [...items, item] : items).join(","));
  };
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
  const tip = $("tip");
  const marks = {};
  const rowsOf = matrix ? [...matrix.tBodies[0].rows] : [];
  let pointed = null;
  let keepStop = () => {};
  const hideTip = () => { tip.hidden = true; pointed = null; };
  const fold = (number, shown) => {
    rowsOf.forEach((row) => { if (row.dataset.group === number) row.classList.toggle("shut", !shown); });
    const button = matrix.querySelector('[data-open="' + number + '"]');
    if (button) button.setAttribute("aria-expanded", String(shown));
    keepStop();
  };
  if (matrix) {
    const body = matrix.tBodies[0];
    matrix.closest("section").querySelectorAll(".legend li").forEach((item) => {
      const kind = (item.firstElementChild.className.match(/c-([\w-]+)/) || [])[1];
      if (kind) marks[kind] = item.textContent.trim();
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
    const showTip = (cell) => {
      const row = cell.parentElement;
      const column = cell.cellIndex - 1;
      const kind = cell.className.match(/c-([\w-]+)/)[1];
      const name = row.querySelector(".who a").textContent;
      tip.replaceChildren(make("b", "", "torch " + data.columns[column] + ": " + marks[kind]), make("span", "", name));
      const known = data.cells[row.dataset.r + "," + column];
      if (known) {
        const [reason, count, names] = known;
        if (data.texts[reason]) tip.append(make("div", "", data.texts[reason]));
        if (count) {
          const many = count > 1;
          const wheel = row.querySelector("button.open");
          tip.append(make("div", "", wheel ? count + (many ? " files:" : " file:")
            : kind === "fails" ? count + (many ? " imports are not exported:" : " import is not exported:") : "changed:"));
        }
        names.forEach((text) => tip.append(make("code", "", data.texts[text])));
        if (count > names.length) tip.append(make("code", "", "and " + (count - names.length) + " more"));
      }
      if (cell.classList.contains("target")) tip.append(make("div", "", "What it was judged on."));
      if (matrix.querySelector("td.range") && row.querySelector("td.range")) {
        tip.append(make("div", "", cell.classList.contains("range") ? "Its requirement admits this release." : "Its requirement does not admit this release."));
      }
      tip.hidden = false;
      pointed = cell;
      placeTip();
      cell.setAttribute("aria-describedby", "tip");
    };
    // Moving the focus scrolls: the tip goes along with its cell, and away with it.
    const placeTip = () => {
      if (!pointed) return;
      const at = pointed.getBoundingClientRect();
      if (at.bottom < 0 || at.top > innerHeight) { hideTip(); return; }
      const size = tip.getBoundingClientRect();
      const left = Math.max(8, Math.min(at.left + at.width / 2 - size.width / 2, innerWidth - size.width - 8));
      const below = at.bottom + 8;
      tip.style.left = left + "px";
      tip.style.top = (below + size.height < innerHeight ? below : Math.max(8, at.top - size.height - 8)) + "px";
    };
    // The newest builds are the ones that most people ask about: of those that something was judged on or promises.
    const scroller = matrix.parentElement;
    const asked = [...body.querySelectorAll("td.target, td.range")].map((cell) => cell.offsetLeft + 3 * cell.offsetWidth);
    scroller.scrollLeft = (asked.length ? Math.max(...asked) : scroller.scrollWidth) - scroller.clientWidth;
    const cellOf = (event) => event.target.closest("td.cell");
    let current = body.querySelector("td.cell");
    if (current) current.tabIndex = 0;
    // One stop for Tab, in a row that is shown.
    keepStop = () => {
      if (!current || current.checkVisibility()) return;
      const row = rowsOf.find((one) => one.checkVisibility());
      if (!row) return;
      current.tabIndex = -1;
      current = row.cells[1];
      current.tabIndex = 0;
    };
    const go = (cell) => {
      if (!cell) return;
      current.tabIndex = -1;
      cell.tabIndex = 0;
      current = cell;
      cell.focus();
    };
    const beside = (row, step) => {
      let next = row[step];
      while (next && !next.checkVisibility()) next = next[step];
      return next;
    };
    body.addEventListener("mouseover", (event) => { const cell = cellOf(event); if (cell) showTip(cell); else hideTip(); });
    matrix.addEventListener("mouseleave", () => { if (document.activeElement !== current) hideTip(); });
    body.addEventListener("focusin", (event) => { const cell = cellOf(event); if (cell) showTip(cell); });
    body.addEventListener("focusout", hideTip);
    body.addEventListener("click", (event) => { const cell = cellOf(event); if (cell) { go(cell); showTip(cell); } });
    scroller.addEventListener("scroll", placeTip, { passive: true });
    addEventListener("scroll", placeTip, { passive: true });
    body.addEventListener("keydown", (event) => {
      const cell = cellOf(event);
      if (!cell) return;
      const row = cell.parentElement;
      const moves = {
        ArrowRight: () => cell.nextElementSibling,
        ArrowLeft: () => cell.cellIndex > 1 && cell.previousElementSibling,
        ArrowDown: () => { const next = beside(row, "nextElementSibling"); return next && next.cells[cell.cellIndex]; },
        ArrowUp: () => { const next = beside(row, "previousElementSibling"); return next && next.cells[cell.cellIndex]; },
        Home: () => row.cells[1],
        End: () => row.cells[row.cells.length - 1],
        Escape: () => { hideTip(); return null; },
      };
      if (!(event.key in moves)) return;
      event.preventDefault();
      go(moves[event.key]());
    });
    // RFC 4180. A text that a spreadsheet would take for a formula begins with an apostrophe.
    const field = (value) => {
      const text = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
      return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
    };
    $("csv").addEventListener("click", () => {
      const lines = [[...data.csvHead, ...data.columns.map((name) => "torch " + name)]];
      for (const row of rowsOf) {
        lines.push([...data.csv[row.dataset.r], ...[...row.cells].slice(1).map((cell) => cell.textContent)]);
      }
      const text = lines.map((line) => line.map(field).join(",") + "\r\n").join("");
      const link = make("a");
      link.href = URL.createObjectURL(new Blob(["\ufeff" + text], { type: "text/csv;charset=utf-8" }));
      link.download = "abiscan-releases.csv";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
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
    $("count").textContent = words.length || only.checked ? parts.join(" · ") : "";
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
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
      event.preventDefault();
      query.focus();
    });
    addEventListener("hashchange", () => {
      for (const name of [...state.keys()]) state.delete(name);
      const hash = location.hash.slice(1);
      if (hash.includes("=")) new URLSearchParams(hash).forEach((value, name) => state.set(name, value));
      else state.set("at", anchor());
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
    const code = (text) => {
      const box = make("div", "copyable");
      const pre = make("pre");
      pre.tabIndex = 0;
      pre.append(make("code", "", text));
      const button = make("button", "copy", "Copy");
      button.type = "button";
      button.dataset.copy = "";
      box.append(pre, button);
      return box;
    };
    detail.replaceChildren();
    if (demangled) detail.append(make("p", "label", "Name"), code(demangled));
    detail.append(make("p", "label", demangled ? "Mangled" : "Name"), code(mangled));
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
