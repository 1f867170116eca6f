// One measurement of durable transitions: batches from the real core through Store::commit, and then raw inserts of
// rows as large as an attempt's. store.py runs it in rounds.
#include <fmt/format.h>

#include <span>

#include "core_load.h"
#include "measure.h"
#include "raw_inserts.h"
#include "store/sqlite_store.h"
#include "wire/cells.h"

namespace drover {
namespace {

struct StoreTimes {
  double core_seconds = 0;
  double commit_seconds = 0;
  std::uint64_t rows = 0;  // put, added or deleted
  Attempt sample;
};

StoreTimes through_store(const std::string& database, std::uint64_t items, std::uint64_t batch) {
  auto store = must(open_sqlite_store(database));
  CoreLoad load(items, batch);
  must(store->commit(load.setup()));
  StoreTimes times;
  for (std::uint64_t done = 0; done < items; done += batch) {
    const Stopwatch core;
    const Batch changed = load.next();
    times.core_seconds += core.seconds();
    times.rows += changed.mutations.size();
    const Stopwatch commit;
    must(store->commit(changed));
    times.commit_seconds += commit.seconds();
  }
  times.sample = load.sample();
  return times;
}

// As SQLite encodes it: a header of one byte a column, then the values in as few bytes as they need.
std::size_t encoded_bytes(const Attempt& attempt) {
  const auto cells = to_cells(attempt);
  std::size_t bytes = 1 + cells.size();
  for (const Cell& cell : cells) {
    if (const auto* text = std::get_if<std::string>(&cell)) bytes += text->size();
    const auto* number = std::get_if<std::int64_t>(&cell);
    if (number == nullptr || *number == 0 || *number == 1) continue;
    const std::int64_t size = *number < 0 ? -*number : *number;
    for (const int width : {1, 2, 3, 4, 6, 8}) {
      if (width < 8 && size >= std::int64_t{1} << (8 * width - 1)) continue;
      bytes += static_cast<std::size_t>(width);
      break;
    }
  }
  return bytes;
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  using namespace drover;
  if (argc != 4) {
    std::fputs("usage: store_bench FOLDER ITEMS BATCH\n", stderr);
    return 2;
  }
  const std::string folder = argv[1];
  const std::uint64_t items = std::strtoull(argv[2], nullptr, 10);
  const std::uint64_t batch = std::strtoull(argv[3], nullptr, 10);
  if (batch == 0 || items == 0 || items % batch != 0) give_up("ITEMS must be a multiple of BATCH");
  const StoreTimes store = through_store(folder + "/store.db", items, batch);
  const std::size_t row_bytes = encoded_bytes(store.sample);
  const double raw_seconds = raw_inserts(folder + "/raw.db", items, batch, row_bytes);
  fmt::print(
      "{{\"items\":{},\"commit_seconds\":{:.6f},\"core_seconds\":{:.6f},\"raw_seconds\":{:.6f},\"rows\":{},"
      "\"row_bytes\":{}}}\n",
      items, store.commit_seconds, store.core_seconds, raw_seconds, store.rows, row_bytes);
}
