// What every chart is drawn with: SVG elements, and what is told of the place under the pointer. Colours come from the
// style sheet alone, so that dark, light and paper need nothing from here.
"use strict";

function svg(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  return element;
}

// An empty chart in `host`, as the function that adds elements to it.
function canvas(host, width, height, label) {
  const root = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label});
  host.replaceChildren(root);
  return (name, attributes, text) => root.appendChild(svg(name, attributes, text));
}

const round = (x) => Math.round(x * 100) / 100;
const box = (x, y, w, h) => `M${round(x)} ${round(y)}h${round(w)}v${round(h)}h${round(-w)}z`;

function roundedBox(x, y, w, h) {
  const r = Math.min(3, w / 3, h / 3);
  if (r < 1) return box(x, y, w, h);
  const arc = (dx, dy) => `a${round(r)} ${round(r)} 0 0 1 ${round(dx)} ${round(dy)}`;
  return `M${round(x + r)} ${round(y)}h${round(w - 2 * r)}${arc(r, r)}v${round(h - 2 * r)}${arc(-r, r)}` +
         `h${round(2 * r - w)}${arc(-r, -r)}v${round(2 * r - h)}${arc(r, -r)}z`;
}

// --- under the pointer

const tip = document.getElementById("tip");

// `lines` are [element, text]; those that are false are left out.
function showTip(event, lines) {
  tip.replaceChildren(...lines.filter(Boolean).map(([name, text]) => {
    const line = document.createElement(name);
    line.textContent = text;
    return line;
  }));
  tip.hidden = false;
  const {width, height} = tip.getBoundingClientRect();
  const x = event.clientX + 16 + width < innerWidth - 8 ? event.clientX + 16 : event.clientX - 16 - width;
  const y = Math.min(event.clientY + 16, innerHeight - height - 8);
  tip.style.left = `${Math.max(8, x)}px`;
  tip.style.top = `${Math.max(8, y)}px`;
}

// While the pointer is over the chart, tells the lines that `lines(x, y)` has for its place, if any.
function follow(host, lines, leave) {
  const root = host.firstChild;
  const gone = () => {
    tip.hidden = true;
    leave();
  };
  const move = (event) => {
    const at = root.getBoundingClientRect();
    const scale = root.viewBox.baseVal.width / at.width;
    const told = lines((event.clientX - at.left) * scale, (event.clientY - at.top) * scale);
    if (told) showTip(event, told);
    else gone();
  };
  root.addEventListener("pointermove", move);
  root.addEventListener("pointerdown", move);
  root.addEventListener("pointerleave", gone);
}
