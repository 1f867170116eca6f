#include "store/ledger_query.h"

#include "store/schema.h"
#include "store/sqlite_db.h"

namespace drover {

Result<void> query_ledger(const std::string& path, const std::string& sql, std::int64_t limit_ms,
                          const QuerySink& sink) {
  auto db = Database::open(path, OpenMode::read_only, [](std::int64_t waited_ms) { return waited_ms < 5000; });
  if (!db) return pass(db);
  if (auto known = check_schema(*db); !known) return known;
  db->limit_time(limit_ms);
  auto statement = db->prepare(sql);
  if (!statement) return pass(statement);
  if (!*statement || !statement->read_only()) {
    return fail(ErrorCode::bad_input, "only a query that reads is answered",
                "write SELECT …; the tables are in docs/cli.md");
  }
  std::vector<std::string> names;
  for (int column = 0; column < statement->columns(); ++column) names.push_back(statement->column_name(column));
  sink.columns(names);
  while (true) {
    auto row = statement->step();
    if (!row) return pass(row);
    if (!*row) return {};
    std::vector<Cell> cells;
    for (int column = 0; column < statement->columns(); ++column) cells.push_back(statement->cell(column));
    if (!sink.row(cells)) return {};
  }
}

}  // namespace drover
