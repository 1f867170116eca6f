// Items per second over time.
"use strict";

// Neighbouring columns together, as many as make a calm curve: [{from, to, succeeded, others}] in items per second.
function rates() {
  const {width_us: width, from_us: origin, at, succeeded, others} = data.columns;
  const bins = Math.min(200, Math.max(data.settled / 12, Math.min(data.settled / 2, 8), 1));
  const work = data.stretches.reduce((sum, [from, to]) => sum + to - from, 0);
  const together = Math.max(1, Math.ceil(work / width / bins)) * width;
  let next = 0;
  return data.stretches.map(([from, to]) => {
    const n = Math.max(1, Math.round((to - from) / together));
    const out = Array.from({length: n}, (_, i) => ({
      from: from + i * together, to: i === n - 1 ? to : from + (i + 1) * together, succeeded: 0, others: 0,
    }));
    for (; next < at.length && origin + at[next] * width <= to; ++next) {
      const i = Math.floor((origin + (at[next] + 0.5) * width - from) / together);
      const bin = out[Math.max(0, Math.min(n - 1, i))];
      bin.succeeded += succeeded[next];
      bin.others += others[next];
    }
    for (const bin of out) {
      const seconds = Math.max(bin.to - bin.from, 1e3) / 1e6;
      bin.succeeded /= seconds;
      bin.others /= seconds;
    }
    return out;
  });
}

function niceTop(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 3, 4, 5, 6, 8, 10].find((it) => it * power >= value);
}

const highest = (bins) => Math.max(...bins.flat().map((bin) => bin.succeeded + bin.others));

// A unit in which the highest rate is a readable number: [seconds, "items per …"].
function rateUnit(bins) {
  const peak = highest(bins);
  return peak >= 0.5 ? [1, "second"] : peak >= 0.5 / 60 ? [60, "minute"] : [3600, "hour"];
}

function drawCurve(add, scale, {left, right, top, bottom}, bins) {
  const [seconds, unit] = rateUnit(bins);
  const peak = niceTop(highest(bins) * seconds || 1) / seconds;
  const y = (value) => round(bottom - value / peak * (bottom - top));
  for (const share of [0, 0.5, 1]) {
    const at = Math.round(y(peak * share)) + 0.5;
    add("path", {class: "grid-line", d: `M${left} ${at}H${right}`});
    if (share > 0) add("text", {x: left - 8, y: at + 4, "text-anchor": "end"}, rate(peak * share * seconds));
  }
  add("text", {x: left, y: top - 8, class: "soft"}, `items per ${unit}`);
  for (const stretch of bins) {
    const begin = round(scale.x(stretch[0].from));
    const steps = (value) => stretch.map((bin) => `V${y(value(bin))}H${round(scale.x(bin.to))}`).join("");
    const all = steps((bin) => bin.succeeded + bin.others);
    const others = steps((bin) => bin.others);
    add("path", {class: "area succeeded", d: `M${begin} ${bottom}${all}V${bottom}z`});
    add("path", {class: "curve succeeded", d: `M${begin} ${y(stretch[0].succeeded + stretch[0].others)}${all}`});
    add("path", {class: "fill failed", "fill-opacity": 0.8, d: `M${begin} ${bottom}${others}V${bottom}z`});
  }
}

// What there is to tell of a moment.
function rateTip(bins, us) {
  const bin = bins.flat().findLast((it) => us >= it.from) ?? bins[0][0];
  const [seconds, unit] = rateUnit(bins);
  return [["b", `${rate((bin.succeeded + bin.others) * seconds)} items per ${unit}`],
          bin.others > 0 && ["p", `${rate(bin.others * seconds)} of them did not succeed`],
          ["p", `${duration(bin.to - bin.from)} from ${clock(bin.from)}`]];
}
