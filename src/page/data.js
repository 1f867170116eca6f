// The page's one block of data. Times in it are in microseconds since the run began.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
for (const row of data.cells ?? []) {
  row.failedAt = new Map();  // column → failures
  for (let i = 0; i < row.failed.length; i += 2) row.failedAt.set(row.failed[i], row.failed[i + 1]);
}
const states = [null, "succeeded", "failed", "cancelled", "lost"];  // by their numbers in the ledger
