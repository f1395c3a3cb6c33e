page.start((data) => {
  const { $, make, copyable, state, readState, keep, leadsTo, walk, saveCsv } = page;
  const text = (number) => data.texts[number];
  const matrix = $("matrix");
  const finder = $("finder");
  const query = $("q");
  const only = $("only");
  let keepStop = () => {};

  // --- the heat map --------------------------------------------------------------------------------------------
  const rows = matrix ? [...matrix.tBodies[0].rows].slice(1) : [];
  const order = $("order");
  if (matrix) {
    const words = { loads: "all work", fails: "none works", unknown: "not checked" };
    keepStop = walk(matrix, (cell) => {
      const row = cell.parentElement;
      const column = cell.cellIndex - 1;
      const kind = cell.className.match(/c-([\w-]+)/)[1];
      const said = words[kind] || cell.dataset.percent + " % of its wheels load";
      const found = [make("b", "", "torch " + data.releases[column] + ": " + said), make("span", "", row.dataset.name || "all packages")];
      const reason = data.cells[row.dataset.r + "," + column];
      if (reason !== undefined) found.push(make("div", "", "Most often: " + text(reason)));
      return found;
    });
    matrix.closest("section").querySelector(".tools").hidden = false;
    $("csv").addEventListener("click", () => {
      const lines = [[...data.csvHead, ...data.releases.map((name) => "torch " + name)]];
      for (const row of rows) {
        const { name, wheels, fails, open } = row.dataset;
        lines.push([name, wheels, fails, open, ...[...row.cells].slice(1).map((cell) => (cell.classList.contains("c-unknown") ? "" : cell.textContent))]);
      }
      saveCsv("abiscan-readiness.csv", lines);
    });
  }
  let put = "";
  const sort = () => {
    const by = order.value;
    if (by === put) return;
    put = by;
    const sorted = [...rows].sort((a, b) => (by === "name" ? a.dataset.name.localeCompare(b.dataset.name)
      : by ? b.dataset[by] - a.dataset[by] || a.dataset.r - b.dataset.r : a.dataset.r - b.dataset.r));
    matrix.tBodies[0].append(...sorted);
  };

  // --- one package: its wheels, their files, what these lack ----------------------------------------------------
  const chosen = $("chosen");
  // Words between backticks as code.
  const sentence = (value) => {
    const box = make("p", "step");
    const pieces = value.split("`");
    if (pieces.length % 2) pieces.forEach((piece, place) => box.append(place % 2 ? make("code", "", piece) : piece));
    else box.append(value);
    return box;
  };
  const fileBox = ([member, torch, unresolved, cause, summary, fix, names]) => {
    const box = make("div", "filebox");
    const head = make("p", "");
    head.append(make("code", "", text(member)), " on torch " + text(torch) + (text(cause) ? ": " + text(cause) : ""));
    box.append(head);
    if (text(summary)) box.append(make("p", "", text(summary)));
    if (names.length) {
      box.append(make("p", "label", unresolved + (unresolved === 1 ? " import does not resolve" : " imports do not resolve")));
      const list = make("ul", "names lacking");
      names.forEach((name) => { const item = make("li"); item.append(make("code", "", text(name))); list.append(item); });
      if (unresolved > names.length) list.append(make("li", "meta", "and " + (unresolved - names.length) + " more"));
      box.append(list);
    }
    if (fix.length) box.append(make("p", "label", "Fix"));
    fix.forEach(([prose, commands, remark]) => {
      if (text(prose)) box.append(sentence(text(prose)));
      commands.forEach((command) => box.append(copyable(text(command))));
      if (text(remark)) box.append(make("p", "meta", text(remark)));
    });
    return box;
  };
  const wheelCard = ([name, verdict, works, files, more], open) => {
    const box = make("details", "card");
    const summary = make("summary");
    const title = make("span", "title");
    title.append(make("code", "", name), make("span", "", text(works) ? "works with torch " + text(works) : verdict === "not-torch" ? "" : "works with no known release"));
    summary.append(make("span", "badge v-" + verdict, verdict), title);
    box.append(summary);
    files.forEach((file) => box.append(fileBox(file)));
    if (more > 0) box.append(make("p", "meta", "and " + more + " more " + (more === 1 ? "file that fails" : "files that fail")));
    if (!files.length) box.append(make("p", "meta", verdict === "fails" ? "None of its files fails by itself: the rules say why." : "None of its files fails."));
    box.open = open;
    return box;
  };
  const choose = (name, focus) => {
    const wheels = data.packages[name];
    if (!chosen) return;
    chosen.hidden = !wheels;
    if (!wheels) return;
    const [listed, all] = data.listed[name];
    $("package").textContent = name;
    $("listed").textContent = listed < all ? "The newest " + listed + " of " + all + " wheels; the view packages of dashboard.sql has all." : "";
    $("wheels").replaceChildren(...wheels.map((wheel, place) => wheelCard(wheel, wheel[1] === "fails" && wheels.findIndex((one) => one[1] === "fails") === place)));
    if (focus) {
      chosen.scrollIntoView();
      $("package").focus({ preventScroll: true });
    }
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const row = link.closest("tr[data-name]");
    if (row) state.set("package", row.dataset.name);
    state.set("at", row ? "package" : link.getAttribute("href").slice(1));
    keep(true);
    if (row) choose(row.dataset.name, true);
    else $(state.get("at")).scrollIntoView();
  });

  // --- tables that can be sorted --------------------------------------------------------------------------------
  const tables = [...document.querySelectorAll("table.sortable")];
  tables.forEach((table) => [...table.tHead.rows[0].cells].forEach((head, place) => {
    const button = make("button", "", head.textContent);
    button.type = "button";
    head.replaceChildren(button);
    const number = head.classList.contains("number");
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : number;
      [...table.tHead.rows[0].cells].forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => row.cells[place].textContent;
      const sorted = [...table.tBodies[0].rows].sort((a, b) => (number ? value(a) - value(b) : value(a).localeCompare(value(b))) * (down ? -1 : 1));
      table.tBodies[0].append(...sorted);
    });
  }));

  // --- one search over everything, and what fails alone --------------------------------------------------------
  const lists = tables.map((table) => [table, [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()])]);
  const filter = (remembered) => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (value) => words.every((word) => value.includes(word));
    let packages = 0;
    for (const row of rows) {
      const shown = has(row.dataset.name.toLowerCase()) && (!only.checked || row.dataset.fails !== "0");
      row.classList.toggle("off", !shown);
      packages += shown ? 1 : 0;
    }
    let others = 0;
    let total = 0;
    for (const [table, all] of lists) {
      let here = 0;
      for (const [row, value] of all) {
        const shown = has(value);
        row.classList.toggle("off", !shown);
        here += shown ? 1 : 0;
      }
      table.closest("section").classList.toggle("off", here === 0);
      others += here;
      total += all.length;
    }
    keepStop();
    $("count").textContent = !words.length && !only.checked ? "" : !packages && !others ? "Nothing matches."
      : packages + " of " + rows.length + " packages" + (words.length ? " · " + others + " of " + total + " rows of the tables" : "");
    state.set("q", query.value.trim());
    state.set("only", only.checked ? "failing" : "");
    if (remembered) keep(false);
  };
  const begin = () => {
    query.value = state.get("q") || "";
    only.checked = state.get("only") === "failing";
    if (order) {
      order.value = ["name", "wheels", "fails"].includes(state.get("order")) ? state.get("order") : "";
      sort();
    }
    filter(false);
    choose(state.get("package") || "", state.get("at") === "package");
    if (state.get("at") && state.get("at") !== "package" && $(state.get("at"))) $(state.get("at")).scrollIntoView();
  };
  finder.hidden = false;
  query.addEventListener("input", () => filter(true));
  only.addEventListener("change", () => filter(true));
  finder.addEventListener("submit", (event) => event.preventDefault());
  leadsTo(query);
  if (order) order.addEventListener("change", () => { state.set("order", order.value); keep(false); sort(); });
  addEventListener("hashchange", () => { readState(); begin(); });
  begin();
});
