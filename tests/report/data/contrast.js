const channel = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
const parse = (c) => (c.match(/[\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
  if (c.length === 3 || c[3] > 0.99) return c; } return [255, 255, 255]; };
const bad = [];
for (const e of document.body.querySelectorAll("*")) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.checkVisibility() || e.closest(".sr, script, td.cell > i")) continue;
  const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) bad.push([e.className || e.tagName, e.textContent.slice(0, 30), ratio.toFixed(2)]);
}
// The sign of a cell and its field are those of its pseudo-element.
for (const e of document.querySelectorAll(".cell")) {
  const style = getComputedStyle(e, "::before");
  const [a, b] = [light(parse(style.color)), light(e.tagName === "TD" ? parse(style.backgroundColor) : ground(e))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5 && !["none", '""'].includes(style.content)) bad.push([e.className, style.content, ratio.toFixed(2)]);
}
return bad;
