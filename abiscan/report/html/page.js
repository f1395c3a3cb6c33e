"use strict";
// What every page has: names as text nodes, the theme, copying, the state in the address, CSV, and a table of cells that
// the keyboard walks through and that tells why.
const page = (() => {
  const $ = (id) => document.getElementById(id);
  // The data are JSON, compressed as zlib does, in base64.
  const unpack = async () => {
    const bytes = Uint8Array.from(atob($("data").textContent), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  };
  const start = async (main) => {
    main(await unpack());
    document.documentElement.classList.add("ready");
  };
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
  const copyable = (text) => {
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

  // --- state: in the address, so that a link shows what its sender saw -------------------------------------------
  document.documentElement.classList.add("js");
  const state = new URLSearchParams();
  const readState = () => {
    for (const name of [...state.keys()]) state.delete(name);
    const hash = location.hash.slice(1);
    if (hash.includes("=")) new URLSearchParams(hash).forEach((value, name) => state.set(name, value));
    else try { state.set("at", decodeURIComponent(hash)); } catch { /* no address of ours */ }
  };
  readState();
  const keep = (push) => {
    for (const [name, value] of [...state]) if (!value) state.delete(name);
    try { history[push ? "pushState" : "replaceState"](null, "", "#" + state); } catch { /* a frame without an address of its own */ }
  };
  const listOf = (name) => (state.get(name) || "").split(",").filter(Boolean);
  const setIn = (name, item, on) => {
    const items = listOf(name).filter((other) => other !== item);
    state.set(name, (on ? [...items, item] : items).join(","));
  };
  // `/` leads to the search; Escape empties it, then leaves it.
  const leadsTo = (query) => document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      query.focus();
      query.select();
    } else if (event.key === "Escape" && document.activeElement === query) {
      event.preventDefault();
      if (query.value) { query.value = ""; query.dispatchEvent(new Event("input")); } else query.blur();
    }
  });

  // --- a table of cells ----------------------------------------------------------------------------------------
  const tip = $("tip");
  // `tell` has what the tip shows of a cell; the answer keeps a stop for Tab in a row that is shown.
  const walk = (matrix, tell) => {
    const body = matrix.tBodies[0];
    let pointed = null;
    const hideTip = () => { tip.hidden = true; pointed = null; };
    const showTip = (cell) => {
      tip.replaceChildren(...tell(cell));
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
    // The newest builds that something was checked against or declares: these are needed most.
    const scroller = matrix.parentElement;
    const asked = [...body.querySelectorAll("td.target, td.range")].map((cell) => cell.offsetLeft + 3 * cell.offsetWidth);
    scroller.scrollLeft = (asked.length ? Math.max(...asked) : scroller.scrollWidth) - scroller.clientWidth;
    const cellOf = (event) => event.target.closest("td.cell");
    let current = body.querySelector("td.cell");
    if (current) current.tabIndex = 0;
    // One stop for Tab, in a row that is shown.
    const keepStop = () => {
      if (!current || current.checkVisibility()) return;
      const row = [...body.rows].find((one) => one.checkVisibility());
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
    return keepStop;
  };

  // --- CSV -----------------------------------------------------------------------------------------------------
  // RFC 4180. A text that a spreadsheet would take for a formula begins with an apostrophe.
  const field = (value) => {
    const text = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  const saveCsv = (name, lines) => {
    const text = lines.map((line) => line.map(field).join(",") + "\r\n").join("");
    const link = make("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff" + text], { type: "text/csv;charset=utf-8" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  return { $, start, make, copyable, state, readState, keep, listOf, setIn, leadsTo, walk, saveCsv };
})();
