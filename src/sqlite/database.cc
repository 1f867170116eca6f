#include "sqlite/database.h"

#include <sqlite3.h>
#include <algorithm>
#include <initializer_list>
#include <string_view>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/text.h"
#include "sqlite/memory_budget.h"

namespace drover {
namespace {

// One call of trim() takes the square of this, a quarter of a second, and nothing can interrupt it.
constexpr int kLongestText = 32 << 10;
constexpr int kLongestQuery = 64 << 10;
constexpr int kLongestPattern = 1'000;  // of LIKE and GLOB
// A row takes a few, and each of them may be such a call.
constexpr int kOpcodesBetweenLooks = 20;

Error sqlite_error(sqlite3* db, int code, const std::string& path) {
  const std::string why = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  const int system_error = db != nullptr ? sqlite3_system_errno(db) : 0;
  const std::string detail = concat(path, ": ", why);
  switch (code & 0xff) {
    case SQLITE_FULL:
      return {ErrorCode::no_space, concat(path, ": the disk is full"), "free some space, then try again"};
    case SQLITE_IOERR:
      if (system_error == ENOSPC || system_error == EDQUOT) {
        return {ErrorCode::no_space, concat(path, ": the disk is full"), "free some space, then try again"};
      }
      return {ErrorCode::io, detail, "check the disk it is on"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return {ErrorCode::read_only, concat(path, ": cannot be written"), "check its owner, its mode and the mount"};
    case SQLITE_CANTOPEN:
      return {ErrorCode::read_only, concat(path, ": cannot be opened or created (", why, ")"),
              "check that the folder exists and is writable"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {ErrorCode::damaged, concat(path, ": is damaged (", why, "); it was not changed"),
              "restore it from a backup, or start over with --fresh"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::in_use, concat(path, ": another program holds its write lock"),
              "end that program's transaction"};
    case SQLITE_INTERRUPT: return {ErrorCode::bad_input, "the query took too long", "query less data"};
    case SQLITE_NOMEM:
      return {ErrorCode::bad_input, "the query took too long, or used too much memory",
              "query less data, or use several queries"};
    case SQLITE_TOOBIG:
      return {ErrorCode::bad_input, concat("the query, or a value in it, is too long (", why, ")"),
              concat("the limit is ", kLongestText >> 10, " KiB for a value and ", kLongestQuery >> 10,
                     " KiB for a query")};
    default: return {ErrorCode::bad_input, why, {}};
  }
}

int call_on_wait(void* context, int count) {
  constexpr std::int64_t kStepMs = 5;
  std::this_thread::sleep_for(std::chrono::milliseconds(kStepMs));
  return (*static_cast<Database::OnWait*>(context))((count + 1) * kStepMs) ? 1 : 0;
}

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int past_deadline(void* context) {
  return steady_ns() > *static_cast<std::atomic<std::int64_t>*>(context) ? 1 : 0;
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(sqlite3* db, sqlite3_stmt* statement, std::string path, bool has_more)
    : db_(db), statement_(statement), path_(std::move(path)), has_more_(has_more) {}

Statement& Statement::bind(int index, const Cell& cell) {
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return bind(index, *number);
  if (const auto* text = std::get_if<std::string>(&cell)) return bind(index, std::string_view(*text));
  if (const auto* bytes = std::get_if<Bytes>(&cell)) return bind_bytes(index, bytes->value);
  sqlite3_bind_null(statement_.get(), index);
  return *this;
}

Statement& Statement::bind(int index, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), index, value);
  return *this;
}

Statement& Statement::bind(int index, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), index, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind_bytes(int index, std::string_view bytes) {
  sqlite3_bind_blob64(statement_.get(), index, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  Error error = sqlite_error(db_, code, path_);
  reset();
  return std::unexpected(std::move(error));
}

Result<void> Statement::run() {
  auto stepped = step();
  if (!stepped) return pass(stepped);
  reset();
  return {};
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

Cell Statement::cell(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_INTEGER: return sqlite3_column_int64(statement_.get(), column);
    case SQLITE_NULL: return {};
    case SQLITE_BLOB: {
      const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
      // Asked of a number, it would turn that into text first.
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
      return Bytes{data == nullptr ? std::string() : std::string(data, size)};
    }
    default: return text(column);
  }
}

std::int64_t Statement::number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (data == nullptr) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

int Statement::columns() const {
  return sqlite3_column_count(statement_.get());
}

std::string Statement::column_name(int column) const {
  return sqlite3_column_name(statement_.get(), column);
}

bool Statement::read_only() const {
  return sqlite3_stmt_readonly(statement_.get()) != 0;
}

void Database::Close::operator()(sqlite3* db) const {
  sqlite3_close_v2(db);
}

Result<Database> Database::open(const std::string& path, OpenMode mode, OnWait on_wait) {
  MemoryBudget::install();
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  std::string name = path;
  switch (mode) {
    case OpenMode::create: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE; break;
    case OpenMode::read_only: flags |= SQLITE_OPEN_READONLY; break;
    case OpenMode::frozen: {
      flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
      name = "file:";
      for (const char c : path) {
        if (c == '?' || c == '#' || c == '%') {
          name += c == '?' ? "%3f" : c == '#' ? "%23" : "%25";
        } else {
          name += c;
        }
      }
      name += "?immutable=1";
      break;
    }
  }
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &raw, flags, nullptr);
  Database db;
  db.db_.reset(raw);
  db.path_ = path;
  if (code != SQLITE_OK) return std::unexpected(sqlite_error(raw, code, path));
  db.on_wait_ = std::make_unique<OnWait>(std::move(on_wait));
  sqlite3_busy_handler(raw, call_on_wait, db.on_wait_.get());
  return db;
}

Result<void> Database::run(const std::string& sql) {
  const int code = sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(sqlite_error(db_.get(), code, path_));
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const char* tail = nullptr;
  const int code = sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                      &statement, &tail);
  if (code != SQLITE_OK) return std::unexpected(sqlite_error(db_.get(), code, path_));
  const std::string_view rest = sql.substr(static_cast<std::size_t>(tail - sql.data()));
  return Statement(db_.get(), statement, path_, rest.find_first_not_of(" \t\r\n;") != std::string_view::npos);
}

Result<std::int64_t> Database::number(std::string_view sql, std::int64_t otherwise) {
  auto statement = prepare(sql);
  if (!statement) return pass(statement);
  auto row = statement->step();
  if (!row) return pass(row);
  return *row ? statement->number(0) : otherwise;
}

std::uint64_t Database::changes() const {
  return static_cast<std::uint64_t>(sqlite3_changes64(db_.get()));
}

std::int64_t Database::last_insert_id() const {
  return sqlite3_last_insert_rowid(db_.get());
}

namespace {

int allow_questions(void* /*nothing*/, int action, const char* first, const char* second, const char* /*database*/,
                    const char* /*trigger*/) {
  const auto one_of = [](const char* name, std::initializer_list<std::string_view> names) {
    return name != nullptr && std::ranges::find(names, std::string_view(name)) != names.end();
  };
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    // What messages say is for those who may receive them.
    case SQLITE_READ:
      return one_of(first, {"message_contents"}) && one_of(second, {"content"}) ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_FUNCTION: return one_of(second, {"load_extension", "zeroblob", "randomblob"}) ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA:
      return one_of(first, {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "integrity_check",
                            "quick_check"})
                 ? SQLITE_OK
                 : SQLITE_DENY;
    default: return SQLITE_DENY;
  }
}

}  // namespace

void Database::only_questions() {
  sqlite3_limit(db_.get(), SQLITE_LIMIT_LENGTH, kLongestText);
  sqlite3_limit(db_.get(), SQLITE_LIMIT_SQL_LENGTH, kLongestQuery);
  sqlite3_limit(db_.get(), SQLITE_LIMIT_LIKE_PATTERN_LENGTH, kLongestPattern);
  sqlite3_limit(db_.get(), SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_set_authorizer(db_.get(), allow_questions, nullptr);
}

void Database::limit_time(std::int64_t ms) {
  deadline_ns_ = std::make_unique<std::atomic<std::int64_t>>(steady_ns() + ms * 1'000'000);
  sqlite3_progress_handler(db_.get(), kOpcodesBetweenLooks, past_deadline, deadline_ns_.get());
}

void Database::interrupt() {
  *deadline_ns_ = 0;  // for what has not begun yet
  sqlite3_interrupt(db_.get());
}

}  // namespace drover
