#include "store/ledger_query.h"

#include <chrono>

#include "base/text.h"
#include "sqlite/memory_budget.h"
#include "store/read_only.h"

namespace drover {
namespace {

constexpr std::int64_t kMostMemory = std::int64_t{256} << 20;

std::int64_t steady_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Result<void> query_ledger(const std::string& path, const std::string& sql, const QueryLimits& limits,
                          const QuerySink& sink) {
  if (limits.stop.stop_requested()) return fail(ErrorCode::stopped, "the server is stopping");
  auto db = open_read_only(path);
  if (!db) return pass(db);
  db->limit_time(limits.time_ms);
  db->only_questions();
  const MemoryBudget memory(kMostMemory, steady_ns() + limits.time_ms * 1'000'000);
  const std::stop_callback interrupt(limits.stop, [&] { db->interrupt(); });
  auto statement = db->prepare(sql);
  if (!statement) {
    return fail(ErrorCode::bad_input, concat("invalid query: ", statement.error().message),
                "docs/cli.md lists the tables and views; try: select * from items limit 5");
  }
  if (statement->has_more()) {
    return fail(ErrorCode::bad_input, "the query contains more than one statement", "send one statement at a time");
  }
  if (!*statement || !statement->read_only()) {
    return fail(ErrorCode::bad_input, "only read-only queries are allowed",
                "use SELECT …; docs/cli.md lists the tables");
  }
  const int columns = statement->columns();
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(columns));
  for (int column = 0; column < columns; ++column) names.push_back(statement->column_name(column));
  sink.columns(names);
  while (true) {
    auto row = statement->step();
    if (!row) return pass(row);
    if (!*row) return {};
    std::vector<Cell> cells;
    cells.reserve(static_cast<std::size_t>(columns));
    for (int column = 0; column < columns; ++column) cells.push_back(statement->cell(column));
    if (!sink.row(cells)) return {};
  }
}

}  // namespace drover
