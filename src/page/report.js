// Draws the charts from the page's one block of data, and lets tables be sorted. Text from the run only ever becomes
// text nodes.
"use strict";

function makeSortable(table) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  const sort = (column) => {
    const heading = headings[column];
    const down = heading.getAttribute("aria-sort") ? heading.getAttribute("aria-sort") === "ascending"
                                                   : heading.classList.contains("number");
    headings.forEach((it) => it.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => row.cells[column].dataset.value;
    const compare = (a, b) => key(a) === undefined
      ? a.cells[column].textContent.localeCompare(b.cells[column].textContent) : Number(key(a)) - Number(key(b));
    body.append(...[...body.rows].sort((a, b) => down ? compare(b, a) : compare(a, b)));
  };
  table.classList.add("can-sort");
  headings.forEach((heading, column) => {
    heading.tabIndex = 0;
    heading.addEventListener("click", () => sort(column));
    heading.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      sort(column);
    });
  });
}

// --- all of it, again whenever the width changes

function draw(id, drawn, paint) {
  const host = document.getElementById(id);
  if (!drawn) return host.remove();
  let last = 0;
  const again = () => {
    const width = Math.floor(host.getBoundingClientRect().width);
    if (width > 0 && width !== last) paint(host, last = width);
  };
  new ResizeObserver(again).observe(host);
  again();
}

const seen = new Set(data.bars ? data.bars.map((bar) => states[bar[4]])
                               : ["succeeded", ...(data.cells.some((row) => row.failed.length > 0) ? ["failed"] : [])]);
for (const state of states.slice(1).filter((it) => seen.has(it))) {
  const entry = document.getElementById("states").appendChild(document.createElement("li"));
  entry.className = state;
  entry.textContent = data.bars ? state : state === "succeeded" ? "stronger colour: busier" : "failed attempts";
}
if (data.stretches.length === 0) document.getElementById("timeline").hidden = true;
draw("timeline-chart", data.stretches.length > 0, drawTimeline);
draw("duration-chart", data.duration.bars.length > 0, (host, width) =>
  drawHistogram(host, width, data.duration, duration, durationTicks, durationFineTicks, "How long attempts took"));
draw("memory-chart", data.memory.bars.length > 0, (host, width) =>
  drawHistogram(host, width, data.memory, size, memoryTicks, memoryFineTicks, "How much memory attempts used"));
document.querySelectorAll("table.sortable").forEach(makeSortable);
