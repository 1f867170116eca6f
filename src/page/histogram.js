// Histograms on a logarithmic axis.
"use strict";

const durationTicks = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 6e7, 6e8, 3.6e9, 3.6e10, 8.64e10, 8.64e11];
const fineSeconds = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 18000, 36000, 86400, 172800];
const durationFineTicks = [1, 1e3].flatMap((unit) => [1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * unit))
  .concat(fineSeconds.map((s) => s * 1e6));
const memoryFineTicks = Array.from({length: 40}, (_, i) => 2 ** i);
const memoryTicks = memoryFineTicks.filter((_, i) => i % 2 === 0);

// Names above the marks; those that would touch are one. `marks` are [{x, text}] from left to right.
function drawMarkNames(add, marks, y, width) {
  const labels = marks.map(({x, text}) => ({from: x, to: x, text}));
  const wide = (label) => label.text.length * 7.4 + 6;
  const middle = (label) => Math.min(Math.max((label.from + label.to) / 2, wide(label) / 2), width - wide(label) / 2);
  for (let i = 1; i < labels.length;) {
    const [a, b] = [labels[i - 1], labels[i]];
    if (middle(b) - middle(a) >= (wide(a) + wide(b)) / 2) {
      ++i;
    } else {
      labels.splice(i - 1, 2, {from: a.from, to: b.to, text: `${a.text} ${b.text}`});
      i = Math.max(1, i - 1);
    }
  }
  for (const label of labels) {
    add("text", {x: round(middle(label)), y, class: "strong", "text-anchor": "middle"}, label.text);
  }
}

function drawHistogram(host, width, histogram, format, coarse, fine, label) {
  const top = 28, height = 150, axis = 24;
  const {bars, marks} = histogram;
  const add = canvas(host, width, top + height + axis, label);
  // A narrow spread is not blown up to the full width: at least a factor of four is shown.
  let low = Math.log(bars[0][0]), high = Math.log(bars.at(-1)[1]);
  const lacking = Math.log(4) - (high - low);
  if (lacking > 0) [low, high] = [low - lacking / 2, high + lacking / 2];
  const x = (value) => (Math.log(value) - low) / (high - low) * (width - 2) + 1;
  const peak = Math.max(...bars.map((bar) => bar[2] + bar[3]));
  const tall = (n) => n > 0 ? Math.max(n / peak * height, 1.5) : 0;
  const bottom = top + height;

  const paths = {succeeded: [], failed: []};
  for (const [from, to, succeeded, others] of bars) {
    const at = x(from), wide = Math.max(x(to) - at - (x(to) - at > 4 ? 1 : 0), 1);
    const lower = tall(succeeded), upper = tall(others);
    if (succeeded > 0) paths.succeeded.push(box(at, bottom - lower, wide, lower));
    if (others > 0) paths.failed.push(box(at, bottom - lower - upper, wide, upper));
  }
  for (const state in paths) add("path", {class: `fill ${state}`, d: paths[state].join("")});
  add("path", {class: "grid-line", d: `M0 ${bottom + 0.5}H${width}`});

  const inside = (ticks) => ticks.filter((tick) => Math.log(tick) >= low && Math.log(tick) <= high);
  const ticks = inside(coarse).length >= 3 ? inside(coarse) : inside(fine);
  let free = -1;
  for (const tick of ticks) {
    const at = Math.min(Math.max(x(tick), 18), width - 18);
    if (at - 26 < free) continue;
    free = at + 26;
    add("path", {class: "grid-line", d: `M${round(x(tick))} ${bottom + 1}v5`});
    add("text", {x: round(at), y: bottom + 19, "text-anchor": "middle"}, format(tick));
  }

  const names = ["p50", "p95", "p99", "max"];
  const placed = marks.map((mark, i) => ({x: Math.min(Math.max(x(mark), 1), width - 1), text: names[i]}));
  add("path", {class: "mark", d: placed.map((mark) => `M${round(mark.x)} ${top - 8}V${bottom}`).join("")});
  drawMarkNames(add, placed, top - 14, width);

  const pointed = add("path", {class: "pointed"});
  const lines = (at) => {
    const [from, to, succeeded, others] = bars.find((bar) => at >= x(bar[0]) && at < x(bar[1])) ?? [];
    pointed.setAttribute("d", "");
    if (!(succeeded + others > 0)) return null;
    const all = tall(succeeded) + tall(others);
    pointed.setAttribute("d", box(x(from), bottom - all, Math.max(x(to) - x(from) - 1, 1), all));
    return [["b", `${format(from)} to ${format(to)}`], ["p", plural(succeeded + others, "attempt")],
            others > 0 && ["p", `${count(others)} did not succeed`]];
  };
  follow(host, lines, () => pointed.setAttribute("d", ""));
}
