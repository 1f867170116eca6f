// Time from left to right, without the run's pauses.
"use strict";

function timeScale(left, width) {
  const pieces = data.stretches.map(([from, to]) => ({from, to}));
  const gap = pieces.length > 1 ? Math.min(24, width * 0.25 / (pieces.length - 1)) : 0;
  const total = Math.max(1, pieces.reduce((sum, piece) => sum + piece.to - piece.from, 0));
  const unit = (width - gap * (pieces.length - 1)) / total;
  let x = left, before = 0;
  for (const piece of pieces) {
    Object.assign(piece, {x, before});
    x += (piece.to - piece.from) * unit + gap;
    before += piece.to - piece.from;
  }
  const pieceOf = (us) => pieces.findLast((piece) => us >= piece.from) ?? pieces[0];
  const end = (piece) => piece.x + (piece.to - piece.from) * unit;
  return {
    pieces, gap, total, unit, end,
    x: (us) => { const piece = pieceOf(us); return Math.min(piece.x + (us - piece.from) * unit, end(piece)); },
    // From where to where a column reaches, which may begin in the pause before it.
    span: (from, to) => {
      const piece = pieceOf(to - 1);
      const x = piece.x + Math.max(from - piece.from, 0) * unit;
      return [x, Math.max(Math.min(piece.x + (to - piece.from) * unit, end(piece)), x + 0.5)];
    },
    us: (at) => {
      const piece = pieces.findLast((it) => at >= it.x) ?? pieces[0];
      return Math.min(piece.from + Math.max(0, at - piece.x) / unit, piece.to);
    },
    // The x of a moment of work: pauses do not count.
    worked: (us) => {
      const piece = pieces.findLast((it) => us >= it.before) ?? pieces[0];
      return piece.x + (us - piece.before) * unit;
    },
  };
}

const secondSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
const timeSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500].map((ms) => ms * 1e3).concat(secondSteps.map((s) => s * 1e6));

function timeTicks(total, most) {
  const step = timeSteps.find((it) => total / it <= most) ?? Math.ceil(total / most / 86400e6) * 86400e6;
  return Array.from({length: Math.floor(total / step) + 1}, (_, i) => i * step);
}
