// Numbers, sizes and times as people read them.
"use strict";

const count = (n) => Math.round(n).toLocaleString("en-US");
const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
const two = (n) => String(n).padStart(2, "0");
const short = (n) => String(Number(n.toPrecision(3)));

function duration(us) {
  if (us < 1e3) return `${Math.round(us)} µs`;
  if (us < 1e6) return `${short(us / 1e3)} ms`;
  const s = us / 1e6;
  if (s < 60) return `${short(s)} s`;
  const both = (large, unit, small, smaller) => `${large} ${unit}` + (small > 0 ? ` ${two(small)} ${smaller}` : "");
  if (s < 3600) return both(Math.floor(s / 60), "min", Math.floor(s % 60), "s");
  if (s < 172800) return both(Math.floor(s / 3600), "h", Math.floor(s % 3600 / 60), "min");
  return `${short(s / 86400)} d`;
}

function size(kib) {
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; kib >= 1024 && unit < units.length - 1; ++unit) kib /= 1024;
  return `${short(kib)} ${units[unit]}`;
}

function rate(perSecond) {
  if (perSecond >= 1e6) return `${short(perSecond / 1e6)} M`;
  if (perSecond >= 1e4) return `${short(perSecond / 1e3)} k`;
  return perSecond >= 100 ? count(perSecond) : short(perSecond);
}

// The time on the wall where the run was, `us` after it began.
function clock(us) {
  const there = new Date((data.first_us + us) / 1e3 + data.utc_offset_min * 60e3);
  const text = there.toISOString();
  return (data.stretches.length > 1 ? text.slice(0, 10) + " " : "") + text.slice(11, 19);
}
