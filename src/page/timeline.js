// The timeline: items per second above, what each slot did below, on one axis of time.
"use strict";

const curve = {top: 20, bottom: 104};
const lanesTop = curve.bottom + 34;

const heightOfRows = (rows) => rows <= 4 ? 26 : rows <= 10 ? 22 : rows <= 20 ? 16 : rows <= 40 ? 11 : 8;

function drawRows(add, {scale, rowTop, rowHeight, left}) {
  const shared = data.rows.some((row) => row.slots > 1);
  add("text", {x: left, y: lanesTop - 10, class: "soft"}, shared ? "slots, several to a row" : "slots");
  const empty = data.rows.map((_, row) => scale.pieces.map((piece) =>
    box(piece.x, rowTop(row) + 1, scale.end(piece) - piece.x, rowHeight - 2)).join(""));
  add("path", {class: "lane", d: empty.join("")});
  const every = Math.ceil(13 / rowHeight);
  data.rows.forEach((row, i) => {
    if (i % every === 0) add("text", {x: left - 8, y: rowTop(i) + rowHeight / 2 + 4, "text-anchor": "end"}, row.label);
  });
}

function drawAxis(add, {scale, left, right, lanesEnd}) {
  for (const tick of timeTicks(scale.total, Math.max(2, Math.floor((right - left) / 90)))) {
    const x = round(scale.worked(tick));
    const anchor = tick === 0 ? "start" : x > right - 24 ? "end" : "middle";
    add("path", {class: "grid-line", d: `M${x} ${lanesEnd + 2}v5`});
    add("text", {x, y: lanesEnd + 20, "text-anchor": anchor}, tick === 0 ? "0" : duration(tick));
  }
  for (const piece of scale.pieces.slice(1)) {
    add("path", {class: "pause", d: `M${round(piece.x - scale.gap / 2)} ${curve.top}V${lanesEnd}`});
  }
}

function pauseLines({pieces, end}, x) {
  const after = pieces.findIndex((piece, i) => i > 0 && x < piece.x && x > end(pieces[i - 1]));
  if (after < 0) return null;
  const [from, to] = [pieces[after - 1].to, pieces[after].from];
  return [["b", `Nothing ran for ${duration(to - from)}`], ["p", `from ${clock(from)} to ${clock(to)}`]];
}

function drawTimeline(host, width) {
  const longest = Math.max(...data.rows.map((row) => row.label.length));
  const left = Math.max(44, 14 + longest * 6.5), right = width - 2;
  const rowHeight = heightOfRows(data.rows.length);
  const lanesEnd = lanesTop + data.rows.length * rowHeight;
  const scale = timeScale(left, right - left);
  const lanes = {scale, left, right, rowHeight, lanesEnd, rowTop: (row) => lanesTop + row * rowHeight};
  const bins = rates();
  const add = canvas(host, width, lanesEnd + 26, "When each slot was busy, and items per second over time");
  drawCurve(add, scale, {...curve, left, right}, bins);
  drawRows(add, lanes);
  (data.bars ? drawBars : drawCells)(add, lanes);
  drawAxis(add, lanes);

  const pointed = add("path", {class: "pointed"});
  const outline = (path) => pointed.setAttribute("d", path);
  const lines = (x, y) => {
    outline("");
    if (x < left || x > right) return null;
    const pause = pauseLines(scale, x);
    if (pause) return pause;
    const row = Math.floor((y - lanesTop) / rowHeight);
    if (y < lanesTop - 8) {
      outline(`M${round(x)} ${curve.top}V${curve.bottom}`);
      return rateTip(bins, scale.us(x));
    }
    const found = row >= 0 && row < data.rows.length ? (data.bars ? barAt : cellAt)(lanes, row, x, y) : null;
    outline(found ? found.outline : "");
    return found && found.lines;
  };
  follow(host, lines, () => outline(""));
}
