// Attempts one by one: a bar each, in the row of its slot. What is at a place is {outline, lines} for the pointer.
"use strict";

// The bar's x, y, width and height. Where slots share a row, each has a strip of it.
function barBox({scale, rowTop, rowHeight}, [row, place, start, length]) {
  const height = (rowHeight - 2) / data.rows[row].slots;
  const x = scale.x(start);
  return [x, rowTop(row) + 1 + place * height, Math.max(scale.x(start + length) - x, 1), height];
}

function drawBars(add, lanes) {
  const paths = {succeeded: [], cancelled: [], lost: [], failed: []};  // failures on top
  const crowded = data.bars.length > 300;
  for (const bar of data.bars) {
    const [x, y, width, height] = barBox(lanes, bar);
    const apart = width > 4 && !crowded ? 1 : width > 2 ? 0.5 : 0;  // a hair between neighbours
    paths[states[bar[4]]].push((crowded ? box : roundedBox)(x, y, width - apart, height));
  }
  for (const state in paths) {
    if (paths[state].length > 0) add("path", {class: `fill ${state}`, d: paths[state].join("")});
  }
}

function barLines([row, , start, length, state, item, attempt, how, text, line, slot]) {
  const {label} = data.rows[row];  // "3", "0–3", or with its worker "w2:0–3"
  const worker = label.includes(":") ? label.slice(0, label.indexOf(":") + 1) : "";
  const ended = [states[state], state === 1 ? "" : data.texts[how], attempt > 1 ? `attempt ${attempt}` : ""];
  return [
    ["b", `Item ${count(item)}` + (text >= 0 ? `: ${data.texts[text]}` : "")],
    ["p", ended.filter(Boolean).join(", ")],
    ["p", `${duration(length)}, from ${clock(start)} on slot ${worker}${slot}`],
    line >= 0 && ["samp", data.texts[line]],
  ];
}

function barAt(lanes, row, x, y) {
  let best = null, nearest = 4;
  for (const bar of data.bars) {
    if (bar[0] !== row) continue;
    const [left, top, width, height] = barBox(lanes, bar);
    const away = Math.max(left - x, x - left - width, 0) + Math.max(top - y, y - top - height, 0);
    if (away < nearest || (away === nearest && bar[4] !== 1)) [best, nearest] = [bar, away];
  }
  return best && {outline: roundedBox(...barBox(lanes, best)), lines: barLines(best)};
}
