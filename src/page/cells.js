// Very many attempts: how busy each row of slots was over time, and where attempts failed. What is at a place is
// {outline, lines} for the pointer.
"use strict";

const shadeLevels = 9;

// Neighbouring columns of the grid together, so that none is narrower than a pixel: [{first, last, x, end}].
function columnGroups(scale) {
  const {width_us: width, from_us: origin, at} = data.columns;
  const together = Math.ceil(1 / (width * scale.unit));
  const groups = [];
  at.forEach((number, i) => {
    const group = groups.at(-1);
    if (group && i - group.first < together && number === at[i - 1] + 1) group.last = i;
    else groups.push({first: i, last: i});
  });
  for (const group of groups) {
    [group.x, group.end] = scale.span(origin + at[group.first] * width, origin + (at[group.last] + 1) * width);
  }
  return groups;
}

// What one row has in a group of columns.
function cellOf(row, {first, last}) {
  let busy = 0, ended = 0, failed = 0;
  for (let i = first; i <= last; ++i) {
    busy += parseInt(row.busy[i], 36) / 35;
    ended += row.ended[i];
    failed += row.failedAt.get(i) ?? 0;
  }
  return {busy: busy / (last - first + 1), ended, failed};
}

function drawCells(add, {scale, rowTop, rowHeight}) {
  const groups = columnGroups(scale);
  const shades = Array.from({length: shadeLevels + 1}, () => []);
  const failed = [[], [], []];
  const inner = rowHeight - 1;
  data.cells.forEach((row, index) => {
    const y = rowTop(index) + 0.5;
    let run = null;  // neighbours of one shade are one box
    const finish = () => run && shades[run.level].push(box(run.x, y, run.end - run.x, inner));
    for (const group of groups) {
      const cell = cellOf(row, group);
      const level = Math.ceil(cell.busy * shadeLevels);
      if (run && run.level === level && group.x - run.end < 1) {
        run.end = group.end;
      } else {
        finish();
        run = {level, x: group.x, end: group.end};
      }
      if (cell.failed === 0) continue;
      const share = cell.failed / cell.ended;
      const strength = share < 0.02 ? 0 : share < 0.2 ? 1 : 2;
      const tall = inner * [0.22, 0.5, 0.75][strength];
      failed[strength].push(box(group.x, y + inner - tall, Math.max(group.end - group.x, 1), tall));
    }
    finish();
  });
  shades.forEach((boxes, level) => {
    if (level === 0 || boxes.length === 0) return;
    add("path", {class: "fill succeeded", "fill-opacity": round(0.1 + 0.82 * level / shadeLevels), d: boxes.join("")});
  });
  failed.forEach((boxes, strength) => {
    if (boxes.length === 0) return;
    add("path", {class: "fill failed", "fill-opacity": [0.45, 0.75, 1][strength], d: boxes.join("")});
  });
}

function cellLines(row, group) {
  const {width_us: width, from_us: origin, at} = data.columns;
  const {label, slots} = data.rows[row];
  const {busy, ended, failed} = cellOf(data.cells[row], group);
  const from = Math.max(0, origin + at[group.first] * width);
  return [
    ["b", `Slot${slots > 1 ? "s" : ""} ${label}: ${Math.round(busy * 100)} % busy`],
    ["p", `${duration(width * (group.last - group.first + 1))} from ${clock(from)}`],
    ["p", `${plural(ended, "attempt")} ended` + (failed > 0 ? `, ${count(failed)} of them failed` : "")],
  ];
}

function cellAt({scale, rowTop, rowHeight}, row, x) {
  const group = columnGroups(scale).find((it) => x >= it.x && x <= it.end);
  if (!group) return null;
  const outline = box(group.x, rowTop(row), Math.max(group.end - group.x, 2), rowHeight);
  return {outline, lines: cellLines(row, group)};
}
