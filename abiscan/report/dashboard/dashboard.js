"use strict";
const wheels = JSON.parse(document.getElementById("wheels").textContent);
const filter = document.getElementById("filter");
const rows = [...document.querySelectorAll(".heat tbody tr[data-name]")];
const count = document.getElementById("count");
filter.addEventListener("input", () => {
  const wanted = filter.value.trim().toLowerCase();
  let shown = 0;
  for (const row of rows) {
    row.hidden = !row.dataset.name.includes(wanted);
    shown += row.hidden ? 0 : 1;
  }
  count.textContent = wanted ? `${shown} of ${rows.length} listed packages` : "";
});
const detail = document.getElementById("detail");
for (const button of document.querySelectorAll(".heat button")) {
  button.addEventListener("click", () => {
    const name = button.textContent;
    const body = detail.querySelector("tbody");
    body.replaceChildren();
    for (const cells of wheels[name] || []) {
      const row = body.insertRow();
      for (const text of cells) row.insertCell().textContent = text;
    }
    detail.querySelector("h2").textContent = name;
    detail.hidden = false;
    detail.scrollIntoView({ block: "nearest" });
    detail.querySelector("h2").focus();
  });
}
