#include "raw_inserts.h"

#include <sqlite3.h>

#include "measure.h"

namespace drover {

double raw_inserts(const std::string& database, std::uint64_t rows, std::uint64_t batch, std::size_t row_bytes) {
  sqlite3* db = nullptr;
  const auto demand = [&](int code, int wanted) {
    if (code != wanted) give_up(sqlite3_errmsg(db));
  };
  const auto run = [&](const char* sql) { demand(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK); };
  demand(sqlite3_open(database.c_str(), &db), SQLITE_OK);
  run("PRAGMA journal_mode = WAL");
  run("PRAGMA synchronous = FULL");
  run("CREATE TABLE raw(id INTEGER PRIMARY KEY, row BLOB)");
  sqlite3_stmt* insert = nullptr;
  demand(sqlite3_prepare_v2(db, "INSERT INTO raw(row) VALUES(?)", -1, &insert, nullptr), SQLITE_OK);
  const std::string row(row_bytes, 'x');

  const Stopwatch watch;
  for (std::uint64_t done = 0; done < rows; done += batch) {
    run("BEGIN IMMEDIATE");
    for (std::uint64_t i = 0; i < batch; ++i) {
      sqlite3_bind_blob(insert, 1, row.data(), static_cast<int>(row.size()), SQLITE_STATIC);
      demand(sqlite3_step(insert), SQLITE_DONE);
      sqlite3_reset(insert);
    }
    run("COMMIT");
  }
  const double seconds = watch.seconds();
  sqlite3_finalize(insert);
  sqlite3_close(db);
  return seconds;
}

}  // namespace drover
