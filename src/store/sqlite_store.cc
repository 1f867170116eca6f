#include "store/sqlite_store.h"

#include <algorithm>
#include <mutex>

#include "base/check.h"
#include "base/text.h"
#include "store/record_sql.h"
#include "store/schema.h"
#include "store/sqlite_db.h"

namespace drover {
namespace {

/// Rows of deleted jobs may still be there.
constexpr std::string_view kOfJobs = " WHERE job NOT IN (SELECT job FROM deleted_jobs)";
// More free pages than this are given back to the file system.
constexpr std::int64_t kFreePages = 4096;

/// While it lives, what is committed waits for no disk. It becomes durable with whatever is committed after it: both go
/// into the same log, one behind the other.
class Unsynced {
 public:
  explicit Unsynced(Database& db) : db_(db) { set("NORMAL"); }
  ~Unsynced() { set("FULL"); }
  Unsynced(const Unsynced&) = delete;
  Unsynced& operator=(const Unsynced&) = delete;

 private:
  void set(const char* how) {
    DROVER_CHECK(db_.run(concat("PRAGMA synchronous = ", how)).has_value(), "a setting needs neither lock nor disk");
  }

  Database& db_;
};

class SqliteStore : public Store {
 public:
  Result<void> open(const std::string& path, LockNotice notice) {
    auto on_wait = [notice = std::move(notice)](std::int64_t waited_ms) {
      // Somebody else's lock is waited for, however long: giving up would throw work away.
      if (notice && waited_ms % 5000 == 1000) notice(waited_ms);
      return true;
    };
    auto opened = Database::open(path, OpenMode::create, std::move(on_wait));
    if (!opened) return pass(opened);
    db_ = std::move(*opened);
    if (auto ready = prepare_schema(db_); !ready) return ready;
    for (const char* pragma :
         {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA cache_size = -16384"}) {
      if (auto done = db_.run(pragma); !done) return done;
    }
    return prepare_statements();
  }

  Result<void> sweep() {
    return in_transaction([&]() -> Result<void> {
      for (const char* sql : {
               "DELETE FROM manifest_chunks WHERE manifest NOT IN"
               " (SELECT manifest FROM jobs UNION SELECT manifest FROM deleted_jobs)",
               "DELETE FROM manifests WHERE manifest NOT IN"
               " (SELECT manifest FROM jobs UNION SELECT manifest FROM deleted_jobs)",
               "DELETE FROM definitions WHERE definition NOT IN"
               " (SELECT definition FROM jobs UNION SELECT definition FROM deleted_jobs)",
           }) {
        if (auto done = db_.run(sql); !done) return done;
      }
      return {};
    });
  }

  Result<void> load(const std::function<Result<void>(const Mutation&)>& take) override {
    if (auto done = load_all<PutCounters, Counters>("counters", take); !done) return done;
    if (auto done = load_all<PutJob, Job>("jobs", take); !done) return done;
    if (auto done = load_all<PutBlock, BlockRecord>(concat("blocks", kOfJobs), take); !done) return done;
    if (auto done = load_all<PutOpenItem, OpenItem>(concat("open_items", kOfJobs), take); !done) return done;
    if (auto done = load_all<PutGrant, Grant>("grants", take); !done) return done;
    return load_all<PutWorker, Worker>("workers", take);
  }

  Result<void> commit(const Batch& batch) override {
    const std::scoped_lock lock(mutex_);
    return in_transaction([&]() -> Result<void> {
      for (const Mutation& mutation : batch.mutations) {
        auto done = std::visit([&](const auto& it) { return write(it); }, mutation);
        if (!done) return done;
      }
      return {};
    });
  }

  Result<DefinitionId> add_definition(std::string_view text) override {
    const std::scoped_lock lock(mutex_);
    const Unsynced unsynced(db_);
    auto statement = db_.prepare("INSERT INTO definitions(text) VALUES(?)");
    if (!statement) return pass(statement);
    if (auto done = statement->bind(1, text).run(); !done) return pass(done);
    return DefinitionId{static_cast<std::uint64_t>(db_.last_insert_id())};
  }

  Result<ManifestId> begin_manifest() override {
    const std::scoped_lock lock(mutex_);
    const Unsynced unsynced(db_);
    if (auto done = db_.run("INSERT INTO manifests(items) VALUES(NULL)"); !done) return pass(done);
    return ManifestId{static_cast<std::uint64_t>(db_.last_insert_id())};
  }

  Result<void> add_chunks(ManifestId manifest, const std::vector<ManifestChunk>& chunks) override {
    const std::scoped_lock lock(mutex_);
    const Unsynced unsynced(db_);
    return in_transaction([&]() -> Result<void> {
      for (const ManifestChunk& chunk : chunks) {
        add_chunk_.bind(1, to_cell(manifest)).bind(2, to_cell(chunk.first)).bind(3, to_cell(chunk.count));
        add_chunk_.bind_bytes(4, chunk.data.value);
        if (auto done = add_chunk_.run(); !done) return done;
      }
      return {};
    });
  }

  Result<void> end_manifest(ManifestId manifest, const ManifestInfo& info) override {
    const std::scoped_lock lock(mutex_);
    const Unsynced unsynced(db_);
    auto statement = db_.prepare("UPDATE manifests SET kind = ?, items = ?, first_number = ? WHERE manifest = ?");
    if (!statement) return pass(statement);
    statement->bind(1, static_cast<std::int64_t>(info.kind)).bind(2, to_cell(info.items));
    return statement->bind(3, info.first_number).bind(4, to_cell(manifest)).run();
  }

  Result<bool> sweep_deleted(std::uint64_t rows) override {
    const std::scoped_lock lock(mutex_);
    const Unsynced unsynced(db_);
    auto job = db_.number("SELECT coalesce(min(job), 0) FROM deleted_jobs");
    if (!job) return pass(job);
    if (*job == 0) return give_pages_back(rows);
    bool is_clear = false;
    auto done = in_transaction([&]() -> Result<void> {
      auto left = sweep_job(*job, rows);
      if (!left) return pass(left);
      is_clear = *left;
      if (!is_clear) return {};
      return db_.run(concat("DELETE FROM deleted_jobs WHERE job = ", *job));
    });
    if (!done) return pass(done);
    return true;
  }

 private:
  /// Deletes so many rows of a job at most; whether nothing is left.
  Result<bool> sweep_job(std::int64_t job, std::uint64_t rows) {
    const auto of_job = [&](const char* column) {
      return db_.number(concat("SELECT ", column, " FROM deleted_jobs WHERE job = ", job));
    };
    auto manifest = of_job("manifest");
    if (!manifest) return pass(manifest);
    auto definition = of_job("definition");
    if (!definition) return pass(definition);
    struct Rows {
      const char* table;
      const char* key;
      std::string which;
      std::uint64_t weight = 1;  // how many small rows one of these is like
    };
    // What another job has too stays.
    const Rows all[] = {
        {"attempt_rows", "job, item, attempt", concat("job = ", job)},
        {"open_items", "job, item", concat("job = ", job)},
        {"blocks", "job, block", concat("job = ", job)},
        {"manifest_chunks", "manifest, first",
         concat("manifest = ", *manifest, " AND manifest NOT IN (SELECT manifest FROM jobs)"), 64},
        {"manifests", "manifest", concat("manifest = ", *manifest, " AND manifest NOT IN (SELECT manifest FROM jobs)")},
        {"definitions", "definition",
         concat("definition = ", *definition, " AND definition NOT IN (SELECT definition FROM jobs)")},
    };
    for (const Rows& it : all) {
      const std::uint64_t most = rows / it.weight + 1;
      auto done = db_.run(concat("DELETE FROM ", it.table, " WHERE (", it.key, ") IN (SELECT ", it.key, " FROM ",
                                 it.table, " WHERE ", it.which, " LIMIT ", most, ")"));
      if (!done) return pass(done);
      const std::uint64_t gone = db_.changes();
      if (gone >= most) return false;
      rows -= std::min(rows, gone * it.weight);
    }
    return true;
  }

  /// Free pages are used again first. Whether there are more to give back.
  Result<bool> give_pages_back(std::uint64_t pages) {
    auto free = db_.number("PRAGMA freelist_count");
    if (!free) return pass(free);
    if (*free <= kFreePages) return false;
    if (auto done = db_.run(concat("PRAGMA incremental_vacuum(", pages, ")")); !done) return pass(done);
    return true;
  }

  Result<void> prepare_statements() {
    const auto prepare = [&](Statement& statement, const std::string& sql) -> Result<void> {
      auto prepared = db_.prepare(sql);
      if (!prepared) return pass(prepared);
      statement = std::move(*prepared);
      return {};
    };
    const std::pair<Statement*, std::string> all[] = {
        {&begin_, "BEGIN IMMEDIATE"},
        {&commit_, "COMMIT"},
        {&clear_counters_, "DELETE FROM counters"},
        {&put_counters_, put_sql<Counters>("INSERT", "counters")},
        {&put_job_, put_sql<Job>("REPLACE", "jobs")},
        {&put_block_, put_sql<BlockRecord>("REPLACE", "blocks")},
        {&put_open_, put_sql<OpenItem>("REPLACE", "open_items")},
        {&delete_open_, "DELETE FROM open_items WHERE job = ? AND item = ?"},
        {&put_grant_, put_sql<Grant>("REPLACE", "grants")},
        {&delete_grant_, "DELETE FROM grants WHERE grant_id = ?"},
        {&put_worker_, put_sql<Worker>("REPLACE", "workers")},
        {&add_attempt_, put_sql<Attempt>("INSERT", "attempt_rows")},
        {&unsettle_, "UPDATE attempt_rows SET settled = 0 WHERE job = ? AND item = ? AND attempt = ?"},
        {&note_deleted_, "INSERT INTO deleted_jobs SELECT job, definition, manifest FROM jobs WHERE job = ?"},
        {&delete_job_, "DELETE FROM jobs WHERE job = ?"},
        {&add_chunk_, "INSERT INTO manifest_chunks(manifest, first, count, data) VALUES(?,?,?,?)"},
    };
    for (const auto& [statement, sql] : all) {
      if (auto done = prepare(*statement, sql); !done) return done;
    }
    return {};
  }

  template <class Put, class Record>
  Result<void> load_all(std::string_view table, const std::function<Result<void>(const Mutation&)>& take) {
    auto rows = db_.prepare(select_sql<Record>(table));
    if (!rows) return pass(rows);
    while (true) {
      auto row = rows->step();
      if (!row) return pass(row);
      if (!*row) return {};
      auto record = rows->template record<Record>();
      if (!record) return pass(record);
      if (auto done = take(Put{std::move(*record)}); !done) return done;
    }
  }

  template <class Work>
  Result<void> in_transaction(Work&& work) {
    if (auto begun = begin_.run(); !begun) return begun;
    auto done = work();
    if (done) done = commit_.run();
    if (!done) (void)db_.run("ROLLBACK");  // the first error is the one to tell
    return done;
  }

  Result<void> write(const PutCounters& put) {
    if (auto done = clear_counters_.run(); !done) return done;
    return put_record(put_counters_, put.counters);
  }
  Result<void> write(const PutJob& put) { return put_record(put_job_, put.job); }
  Result<void> write(const PutBlock& put) { return put_record(put_block_, put.block); }
  Result<void> write(const PutOpenItem& put) { return put_record(put_open_, put.item); }
  Result<void> write(const DeleteOpenItem& gone) {
    return delete_open_.bind(1, to_cell(gone.job)).bind(2, to_cell(gone.item)).run();
  }
  Result<void> write(const PutGrant& put) { return put_record(put_grant_, put.grant); }
  Result<void> write(const DeleteGrant& gone) { return delete_grant_.bind(1, to_cell(gone.grant)).run(); }
  Result<void> write(const PutWorker& put) { return put_record(put_worker_, put.worker); }
  Result<void> write(const AddAttempt& add) { return put_record(add_attempt_, add.attempt); }
  Result<void> write(const UnsettleAttempt& it) {
    return unsettle_.bind(1, to_cell(it.job)).bind(2, to_cell(it.item)).bind(3, to_cell(it.attempt)).run();
  }

  Result<void> write(const DeleteJob& gone) {
    if (auto done = note_deleted_.bind(1, to_cell(gone.job)).run(); !done) return done;
    return delete_job_.bind(1, to_cell(gone.job)).run();
  }

  template <class Record>
  static Result<void> put_record(Statement& statement, const Record& record) {
    statement.bind_record(record);
    return statement.run();
  }

  std::mutex mutex_;  // one writer at a time: commits, and the lists that are being read in
  Database db_;
  Statement begin_, commit_, clear_counters_, put_counters_, put_job_, put_block_, put_open_, delete_open_, put_grant_,
      delete_grant_, put_worker_, add_attempt_, unsettle_, note_deleted_, delete_job_, add_chunk_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& path, LockNotice notice) {
  auto store = std::make_unique<SqliteStore>();
  if (auto opened = store->open(path, std::move(notice)); !opened) return pass(opened);
  if (auto swept = store->sweep(); !swept) return pass(swept);
  return store;
}

}  // namespace drover
