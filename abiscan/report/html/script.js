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

  // --- links into closed parts ---------------------------------------------------------------------------------
  const reveal = () => {
    const target = location.hash.length > 1 && $(decodeURIComponent(location.hash.slice(1)));
    if (target && target.tagName === "DETAILS") { target.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", reveal);
  reveal();
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#file-"]');
    const target = link && $(link.getAttribute("href").slice(1));
    if (target) target.open = true;
  });

  // --- the rest of a rule's hits -------------------------------------------------------------------------------
  document.querySelectorAll("[data-all]").forEach((button) => button.addEventListener("click", () => {
    const list = button.closest("details").querySelector(".hits");
    const first = list.children.length;
    for (const [file, severity, message, where, accepted] of data.hits[button.dataset.all] || []) {
      const item = make("li", accepted === null ? "" : "settled");
      const line = make("p");
      line.append(make("span", "message", message));
      const meta = make("p", "meta");
      const link = make("a", "file", data.files[file][1]);
      link.href = "#file-" + file;
      meta.append(link);
      for (const place of where.slice(0, 3)) meta.append(" · ", make("code", "", place));
      item.append(line, meta);
      if (accepted !== null) item.append(make("p", "meta", "Accepted: " + accepted));
      item.dataset.severity = severity;
      list.append(item);
    }
    button.parentElement.remove();
    const next = list.children[first];
    if (next) { next.tabIndex = -1; next.focus(); }
  }));

  // --- matrix --------------------------------------------------------------------------------------------------
  const matrix = $("matrix");
  const tip = $("tip");
  let pointed = null;
  const hideTip = () => { tip.hidden = true; pointed = null; };
  if (matrix) {
    const body = matrix.tBodies[0];
    const showTip = (cell) => {
      const file = Number(cell.parentElement.dataset.file);
      const column = cell.cellIndex - 1;
      const kind = cell.className.match(/c-(\w+)/)[1];
      const words = { loads: "loads", fails: "does not load", drift: "loads, but a data object changed size", layout: "binds, but a record lies otherwise", unknown: "not judged" };
      tip.replaceChildren(make("b", "", data.columns[column] + ": " + words[kind]), make("span", "", data.files[file][1]));
      const known = data.cells[file + "," + column];
      if (known) {
        const [reason, count, missing, drift] = known;
        if (data.texts[reason]) tip.append(make("div", "", data.texts[reason]));
        if (count) tip.append(make("div", "", count + (count === 1 ? " import is" : " imports are") + " not exported:"));
        missing.forEach((text) => tip.append(make("code", "", data.texts[text])));
        if (count > missing.length) tip.append(make("code", "", "and " + (count - missing.length) + " more"));
        if (drift.length) tip.append(make("div", "", kind === "layout" ? "changed:" : "changed size:"));
        drift.forEach((text) => tip.append(make("code", "", data.texts[text])));
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
    // The newest builds are the ones that most people ask about.
    matrix.parentElement.scrollLeft = matrix.parentElement.scrollWidth;
    const cellOf = (event) => event.target.closest("td.cell");
    const first = body.querySelector("td.cell");
    let current = first;
    if (first) first.tabIndex = 0;
    const go = (cell) => {
      if (!cell) return;
      current.tabIndex = -1;
      cell.tabIndex = 0;
      current = cell;
      cell.focus();
    };
    body.addEventListener("mouseover", (event) => { const cell = cellOf(event); if (cell) showTip(cell); else hideTip(); });
    matrix.addEventListener("mouseleave", () => { if (document.activeElement !== current) hideTip(); });
    body.addEventListener("focusin", (event) => { const cell = cellOf(event); if (cell) showTip(cell); });
    body.addEventListener("focusout", hideTip);
    body.addEventListener("click", (event) => { const cell = cellOf(event); if (cell) { go(cell); showTip(cell); } });
    matrix.parentElement.addEventListener("scroll", placeTip, { passive: true });
    addEventListener("scroll", placeTip, { passive: true });
    body.addEventListener("keydown", (event) => {
      const cell = cellOf(event);
      if (!cell) return;
      const row = cell.parentElement;
      const moves = {
        ArrowRight: () => cell.nextElementSibling,
        ArrowLeft: () => cell.cellIndex > 1 && cell.previousElementSibling,
        ArrowDown: () => row.nextElementSibling && row.nextElementSibling.cells[cell.cellIndex],
        ArrowUp: () => row.previousElementSibling && row.previousElementSibling.cells[cell.cellIndex],
        Home: () => row.cells[1],
        End: () => row.cells[row.cells.length - 1],
        Escape: () => { hideTip(); return null; },
      };
      if (!(event.key in moves)) return;
      event.preventDefault();
      go(moves[event.key]());
    });
  }

  // --- imports -------------------------------------------------------------------------------------------------
  const rows = $("rows");
  if (!rows) return;
  const HEIGHT = 44;
  const AHEAD = 6;
  const spacer = $("spacer");
  const detail = $("detail");
  const query = $("q");
  const [statusBox, ownerBox, fileBox] = [$("status"), $("owner"), $("where")];
  // Worst first, then by name: the order in which the statuses are listed.
  const all = data.imports.map((entry) => ({
    file: entry[0], mangled: entry[1], demangled: entry[2] || "", status: entry[3], owner: entry[4],
    provider: entry[5], windows: entry[6], causes: entry[7],
    text: ((entry[2] || "") + "\n" + entry[1] + "\n" + data.texts[entry[5]]).toLowerCase(),
  }));
  all.sort((a, b) => a.status - b.status || a.file - b.file);
  const option = (box, value, text) => { const item = make("option", "", text); item.value = value; box.append(item); };
  const used = (key) => new Set(all.map((entry) => entry[key]));
  const counts = new Map();
  all.forEach((entry) => counts.set(entry.status, (counts.get(entry.status) || 0) + 1));
  data.statuses.forEach((name, n) => { if (counts.has(n)) option(statusBox, n, name + " (" + counts.get(n) + ")"); });
  const owners = used("owner");
  data.owners.forEach((name, n) => { if (owners.has(n)) option(ownerBox, n, name); });
  const files = used("file");
  data.files.forEach((names, n) => { if (files.has(n)) option(fileBox, n, names[1]); });
  if (files.size < 2) fileBox.parentElement.hidden = true;

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
      const entry = found[n];
      const row = make("div", "row");
      row.id = "row-" + n;
      row.dataset.n = n;
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", String(n === selected));
      row.setAttribute("aria-setsize", found.length);
      row.setAttribute("aria-posinset", n + 1);
      row.style.top = n * HEIGHT + "px";
      const dot = make("span", "dot i-" + data.statuses[entry.status]);
      dot.append(make("span", "sr", data.statuses[entry.status]));
      row.append(dot, make("span", "name", entry.demangled || entry.mangled));
      row.append(make("span", "of", data.texts[entry.provider] || data.files[entry.file][1]));
      made.push(row);
    }
    rows.replaceChildren(...made);
    if (selected >= from && selected < to) rows.setAttribute("aria-activedescendant", "row-" + selected);
    else rows.removeAttribute("aria-activedescendant");
  };
  const search = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = [[statusBox, "status"], [ownerBox, "owner"], [fileBox, "file"]]
      .filter(([box]) => box.value !== "").map(([box, key]) => [key, Number(box.value)]);
    found = all.filter((entry) =>
      wanted.every(([key, value]) => entry[key] === value) && words.every((word) => entry.text.includes(word)));
    selected = -1;
    rows.scrollTop = 0;
    spacer.style.height = found.length * HEIGHT + "px";
    $("count").textContent = found.length === all.length
      ? all.length + (all.length === 1 ? " import" : " imports")
      : found.length + " of " + all.length + " imports";
    draw(true);
  };
  const choose = (n) => {
    if (!found.length) return;
    selected = Math.max(0, Math.min(n, found.length - 1));
    const top = selected * HEIGHT;
    if (top < rows.scrollTop) rows.scrollTop = top;
    else if (top + HEIGHT > rows.scrollTop + rows.clientHeight) rows.scrollTop = top + HEIGHT - rows.clientHeight;
    draw(true);
    const entry = found[selected];
    const list = make("dl");
    const fact = (name, value) => { if (value) list.append(make("dt", "", name), make("dd", "", value)); };
    const code = (text) => {
      const box = make("div", "copyable");
      const pre = make("pre");
      pre.append(make("code", "", text));
      const button = make("button", "copy", "Copy");
      button.type = "button";
      button.dataset.copy = "";
      box.append(pre, button);
      return box;
    };
    detail.replaceChildren();
    if (entry.demangled) detail.append(make("p", "label", "Name"), code(entry.demangled));
    detail.append(make("p", "label", entry.demangled ? "Mangled" : "Name"), code(entry.mangled));
    fact("status", data.statuses[entry.status]);
    fact("owner", data.owners[entry.owner]);
    fact("provider", data.texts[entry.provider]);
    fact("exported by torch", data.texts[entry.windows]);
    fact("causes", data.texts[entry.causes]);
    fact("file", data.files[entry.file][0]);
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
  query.addEventListener("input", search);
  [statusBox, ownerBox, fileBox].forEach((box) => box.addEventListener("change", search));
  $("search").addEventListener("submit", (event) => { event.preventDefault(); rows.focus(); });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
    event.preventDefault();
    query.focus();
  });
  document.querySelectorAll("[data-search]").forEach((link) => link.addEventListener("click", () => {
    fileBox.value = link.dataset.search;
    query.value = "";
    statusBox.value = "";
    ownerBox.value = "";
    search();
  }));
  addEventListener("resize", () => draw(true));
  $("search").hidden = false;
  $("browser").hidden = false;
  search();
})();
