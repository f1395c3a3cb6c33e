import { $, searching } from "./site.js";
import { about, byMangled, byName } from "./symbols.js";

searching($("symbol-form"), $("symbol"), $("symbol-result"), (text) => {
  const bare = text.replace(/^[`'"]+|[`'"]+$/g, "").trim();
  return /^_?_Z/.test(bare) ? byMangled(bare) : byName(bare);
});
$("symbol-about").textContent = about.symbols.toLocaleString("en") + " symbols of torch " + about.releases[0] + "-" + about.releases.at(-1) + " for Linux on " + about.machine + ".";
document.documentElement.classList.add("ready");
