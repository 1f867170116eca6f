// SQLite, as little of it as the ledger and the index of objects need, with errors as values.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/cells.h"

struct sqlite3;
struct sqlite3_stmt;

namespace drover {

enum class OpenMode : std::uint8_t {
  create,     // read and write; made if missing
  read_only,  // beside a writer
  frozen,     // read only, from a folder that cannot be written and that nobody writes
};

/// A prepared statement. Use: bind everything, step() until no row, reset().
class Statement {
 public:
  Statement() = default;
  Statement(sqlite3* db, sqlite3_stmt* statement, std::string path, bool has_more);

  Statement& bind(int index, const Cell& cell);
  Statement& bind(int index, std::int64_t value);
  Statement& bind(int index, std::string_view text);
  Statement& bind_bytes(int index, std::string_view bytes);

  /// True: there is a row to read.
  Result<bool> step();
  /// For statements without rows: runs and resets.
  Result<void> run();
  void reset();

  Cell cell(int column) const;
  std::int64_t number(int column) const;
  std::string text(int column) const;
  int columns() const;
  std::string column_name(int column) const;
  bool read_only() const;
  /// More SQL stood behind it, and was not looked at.
  bool has_more() const { return has_more_; }
  explicit operator bool() const { return statement_ != nullptr; }

  /// Binds the record's fields to 1, 2, …
  template <class Record>
  void bind_record(const Record& record, int first = 1) {
    int index = first;
    Record::fields(record, [&](const char*, const auto& field) { bind(index++, to_cell(field)); });
  }
  template <class Record>
  Result<Record> record() const {
    return from_cells<Record>([&](int column) { return cell(column); });
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  sqlite3* db_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string path_;
  bool has_more_ = false;
};

class Database {
 public:
  /// Called while somebody else's write lock keeps us waiting, with the milliseconds waited; false gives up.
  using OnWait = std::function<bool(std::int64_t waited_ms)>;

  static Result<Database> open(const std::string& path, OpenMode mode, OnWait on_wait);

  Result<void> run(const std::string& sql);
  /// Commits what `work` does as a whole, or nothing of it if that fails.
  template <class Work>
  Result<void> in_transaction(Work&& work) {
    if (auto begun = run("BEGIN IMMEDIATE"); !begun) return begun;
    Result<void> done = work();
    if (done) done = run("COMMIT");
    if (!done) (void)run("ROLLBACK");  // the first error is the one to tell
    return done;
  }
  Result<Statement> prepare(std::string_view sql);
  /// The first column of the first row of a query, or `otherwise`.
  Result<std::int64_t> number(std::string_view sql, std::int64_t otherwise = 0);
  std::int64_t last_insert_id() const;
  /// How many rows the last statement inserted, changed or deleted.
  std::uint64_t changes() const;
  /// Queries end with an error after this many milliseconds.
  void limit_time(std::int64_t ms);
  /// From another thread, after limit_time() and while this object lives: queries end with an error from now on.
  void interrupt();
  /// From now on nothing is understood but questions about tables, and no text or blob may be long: for what strangers
  /// ask. A statement of another kind could change the process it is asked in.
  void only_questions();
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  std::unique_ptr<sqlite3, Close> db_;
  std::unique_ptr<OnWait> on_wait_;
  std::unique_ptr<std::atomic<std::int64_t>> deadline_ns_;
  std::string path_;
};

}  // namespace drover
