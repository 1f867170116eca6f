#include "store/ledger_query.h"

#include "base/text.h"
#include "store/read_only.h"

namespace drover {

Result<void> query_ledger(const std::string& path, const std::string& sql, std::int64_t limit_ms,
                          const QuerySink& sink) {
  auto db = open_read_only(path);
  if (!db) return pass(db);
  db->limit_time(limit_ms);
  db->only_questions();
  auto statement = db->prepare(sql);
  if (!statement) {
    return fail(ErrorCode::bad_input, concat("the query was not understood: ", statement.error().message),
                "the tables and views are in docs/cli.md; try: select * from items limit 5");
  }
  if (statement->has_more()) {
    return fail(ErrorCode::bad_input, "there is more than one statement", "ask one question at a time");
  }
  if (!*statement || !statement->read_only()) {
    return fail(ErrorCode::bad_input, "only a query that reads is answered",
                "write SELECT …; the tables are in docs/cli.md");
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
