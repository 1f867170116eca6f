#include "store/sqlite_store.h"

#include <mutex>

#include "base/check.h"
#include "base/text.h"
#include "store/record_sql.h"
#include "store/schema.h"
#include "store/sqlite_db.h"

namespace drover {
namespace {

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
               "DELETE FROM manifest_chunks WHERE manifest NOT IN (SELECT manifest FROM jobs)",
               "DELETE FROM manifests WHERE manifest NOT IN (SELECT manifest FROM jobs)",
               "DELETE FROM definitions WHERE definition NOT IN (SELECT definition FROM jobs)",
           }) {
        if (auto done = db_.run(sql); !done) return done;
      }
      return {};
    });
  }

  Result<void> load(const std::function<Result<void>(const Mutation&)>& take) override {
    if (auto done = load_all<PutCounters, Counters>("counters", take); !done) return done;
    if (auto done = load_all<PutJob, Job>("jobs", take); !done) return done;
    if (auto done = load_all<PutBlock, BlockRecord>("blocks", take); !done) return done;
    if (auto done = load_all<PutOpenItem, OpenItem>("open_items", take); !done) return done;
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

 private:
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

  template <class Record>
  static Result<void> put_record(Statement& statement, const Record& record) {
    statement.bind_record(record);
    return statement.run();
  }

  std::mutex mutex_;  // one writer at a time: commits, and the lists that are being read in
  Database db_;
  Statement begin_, commit_, clear_counters_, put_counters_, put_job_, put_block_, put_open_, delete_open_, put_grant_,
      delete_grant_, put_worker_, add_attempt_, unsettle_, add_chunk_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& path, LockNotice notice) {
  auto store = std::make_unique<SqliteStore>();
  if (auto opened = store->open(path, std::move(notice)); !opened) return pass(opened);
  if (auto swept = store->sweep(); !swept) return pass(swept);
  return store;
}

}  // namespace drover
