#include "store/sqlite_store.h"

#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "ports/loaded_blocks.h"
#include "sqlite/database.h"
#include "store/ledger_file.h"
#include "store/record_sql.h"
#include "store/schema.h"
#include "store/sweeper.h"

namespace drover {
namespace {

/// Rows of deleted jobs may still be there.
constexpr std::string_view kOfJobs = " WHERE job NOT IN (SELECT job FROM deleted_jobs)";

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
    file_ = LedgerFile::at(path);
    if (auto ready = prepare_statements(); !ready) return ready;
    const Unsynced unsynced(db_);
    return sweeper_.sweep_at_open();
  }

  Result<void> load(const std::function<Result<void>(const Mutation&)>& take) override {
    if (auto done = load_all<PutCounters, Counters>("counters", take); !done) return done;
    std::set<JobId> with_blocks;
    const auto take_job = [&](const Mutation& put) {
      add_jobs_with_blocks(std::get<PutJob>(put).job, with_blocks);
      return take(put);
    };
    if (auto done = load_all<PutJob, Job>("jobs", take_job); !done) return done;
    auto blocks = db_.prepare(concat(select_sql<BlockRecord>("blocks"), " WHERE job = ?"));
    if (!blocks) return pass(blocks);
    for (const JobId id : with_blocks) {
      blocks->bind(1, to_cell(id));
      if (auto done = load_rows<PutBlock, BlockRecord>(*blocks, take); !done) return done;
      blocks->reset();
    }
    if (auto done = load_all<PutOpenItem, OpenItem>(concat("open_items", kOfJobs), take); !done) return done;
    if (auto done = load_all<PutGrant, Grant>("grants", take); !done) return done;
    if (auto done = load_all<PutWorker, Worker>("workers", take); !done) return done;
    if (auto done = load_all<PutQueue, Queue>("queues", take); !done) return done;
    if (auto done = load_all<PutShare, ShareRecord>("shares", take); !done) return done;
    if (auto done = load_all<PutDefinition, NamedDefinition>("named_definitions", take); !done) return done;
    if (auto done = load_all<PutFleet, Fleet>("fleets", take); !done) return done;
    if (auto done = load_all<PutMachine, Machine>("machines", take); !done) return done;
    if (auto done = load_all<PutDocument, Document>("documents", take); !done) return done;
    if (auto done = load_all<PutAccount, Account>("accounts", take); !done) return done;
    if (auto done = load_all<PutStream, Stream>("streams", take); !done) return done;
    if (auto done = load_all<PutMessageBlock, MessageBlock>("message_blocks", take); !done) return done;
    if (auto done = load_all<PutOpenMessage, OpenMessage>("open_messages", take); !done) return done;
    return load_all<PutSentBefore, SentBefore>("sent_before", take);
  }

  Result<void> commit(const Batch& batch) override {
    const std::scoped_lock lock(mutex_);
    auto done = db_.in_transaction([&]() -> Result<void> {
      peaks_.clear();
      for (const Mutation& mutation : batch.mutations) {
        auto written = std::visit([&](const auto& it) { return write(it); }, mutation);
        if (!written) return written;
      }
      return write_peaks();
    });
    if (!done) return done;
    traffic_ = Traffic::some;
    return file_.check();
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
    return db_.in_transaction([&]() -> Result<void> {
      for (const ManifestChunk& chunk : chunks) {
        add_chunk_.bind(1, to_cell(manifest)).bind(2, to_cell(chunk.first)).bind(3, to_cell(chunk.count));
        add_chunk_.bind_bytes(4, chunk.data.value);
        if (auto done = add_chunk_.run(); !done) return done;
      }
      return {};
    });
  }

  Result<void> end_manifest(ManifestId manifest, const ManifestInfo& info, Lasting lasting) override {
    const std::scoped_lock lock(mutex_);
    std::optional<Unsynced> unsynced;
    if (lasting == Lasting::with_the_job) unsynced.emplace(db_);
    auto statement = db_.prepare("UPDATE manifests SET kind = ?, items = ?, first_number = ? WHERE manifest = ?");
    if (!statement) return pass(statement);
    statement->bind(1, static_cast<std::int64_t>(info.kind)).bind(2, to_cell(info.items));
    if (auto done = statement->bind(3, info.first_number).bind(4, to_cell(manifest)).run(); !done) return done;
    return file_.check();
  }

  void drop_manifest(ManifestId manifest) override {
    const std::scoped_lock lock(dropped_mutex_);
    dropped_.push_back(static_cast<std::int64_t>(manifest.value));
  }

  Result<ManifestInfo> claim_manifest(ManifestId manifest) override {
    const std::scoped_lock lock(mutex_);
    sweeper_.claim(manifest);
    auto row = db_.prepare("SELECT kind, items, first_number FROM manifests WHERE manifest = ? AND items IS NOT NULL");
    if (!row) return pass(row);
    auto found = row->bind(1, to_cell(manifest)).step();
    if (!found) return pass(found);
    if (!*found) return fail(ErrorCode::not_found, concat("manifest ", manifest.value, " not found"));
    return ManifestInfo{static_cast<ManifestKind>(row->number(0)), static_cast<std::uint64_t>(row->number(1)),
                        row->number(2)};
  }

  Result<void> drop_unused(std::int64_t now_ms, std::int64_t unused_ms) override {
    const std::scoped_lock lock(mutex_);
    const Unsynced unsynced(db_);
    return sweeper_.drop_unused(now_ms, unused_ms);
  }

  Result<bool> drop_old_attempts(std::int64_t ended_by_ms, std::uint64_t rows) override {
    const std::scoped_lock lock(mutex_);
    const Unsynced unsynced(db_);
    return sweeper_.drop_old_attempts(ended_by_ms, rows);
  }

  Result<bool> sweep_deleted(std::uint64_t rows) override {
    const std::scoped_lock lock(mutex_);
    const Unsynced unsynced(db_);
    if (const auto lists = take_dropped(); !lists.empty()) {
      auto done = db_.in_transaction([&] { return sweeper_.delete_lists(lists); });
      if (!done) return pass(done);
      return true;
    }
    return sweeper_.sweep(rows, std::exchange(traffic_, Traffic::none));
  }

 private:
  std::vector<std::int64_t> take_dropped() {
    const std::scoped_lock lock(dropped_mutex_);
    return std::exchange(dropped_, {});
  }

  Result<void> prepare_statements() {
    const auto prepare = [&](Statement& statement, const std::string& sql) -> Result<void> {
      auto prepared = db_.prepare(sql);
      if (!prepared) return pass(prepared);
      statement = std::move(*prepared);
      return {};
    };
    const std::pair<Statement*, std::string> all[] = {
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
        {&raise_peak_,
         "INSERT INTO peaks VALUES(?,?,?,?,?) ON CONFLICT DO UPDATE SET wall_us = max(wall_us, excluded.wall_us), "
         "peak_memory_kib = max(peak_memory_kib, excluded.peak_memory_kib), "
         "gpu_busy_us = max(gpu_busy_us, excluded.gpu_busy_us) "
         "WHERE excluded.wall_us > wall_us OR excluded.peak_memory_kib > peak_memory_kib "
         "OR excluded.gpu_busy_us > gpu_busy_us"},
        {&unsettle_, "UPDATE attempt_rows SET settled = 0 WHERE job = ? AND item = ? AND attempt = ?"},
        {&note_deleted_, "INSERT INTO deleted_jobs SELECT job FROM jobs WHERE job = ?"},
        {&delete_job_, "DELETE FROM jobs WHERE job = ?"},
        {&put_queue_, put_sql<Queue>("REPLACE", "queues")},
        {&delete_queue_, "DELETE FROM queues WHERE name = ?"},
        {&put_share_, put_sql<ShareRecord>("REPLACE", "shares")},
        {&delete_share_, "DELETE FROM shares WHERE queue = ? AND coalesce(share, '') = ?"},
        {&put_definition_, put_sql<NamedDefinition>("REPLACE", "named_definitions")},
        {&put_fleet_, put_sql<Fleet>("REPLACE", "fleets")},
        {&delete_fleet_, "DELETE FROM fleets WHERE name = ?"},
        {&put_machine_, put_sql<Machine>("REPLACE", "machines")},
        {&delete_machine_, "DELETE FROM machines WHERE name = ?"},
        {&put_document_, put_sql<Document>("REPLACE", "documents")},
        {&delete_document_, "DELETE FROM documents WHERE kind = ? AND name = ?"},
        {&put_account_, put_sql<Account>("REPLACE", "accounts")},
        {&add_event_, put_sql<Event>("INSERT", "events")},
        {&put_former_, put_sql<FormerWorker>("REPLACE", "former_workers")},
        {&delete_worker_, "DELETE FROM workers WHERE worker = ?"},
        {&put_stream_, put_sql<Stream>("REPLACE", "streams")},
        {&note_purged_,
         "REPLACE INTO deleted_streams SELECT ?1, ?2 WHERE EXISTS "
         "(SELECT 1 FROM message_blocks WHERE stream = ?1 AND first < ?2)"},
        {&note_deleted_stream_, "REPLACE INTO deleted_streams VALUES(?,?)"},
        {&delete_stream_, "DELETE FROM streams WHERE stream = ?"},
        {&put_message_block_, put_sql<MessageBlock>("REPLACE", "message_blocks")},
        {&note_done_block_, "REPLACE INTO deleted_message_blocks VALUES(?)"},
        {&delete_message_block_, "DELETE FROM message_blocks WHERE first = ?"},
        {&put_open_message_, put_sql<OpenMessage>("REPLACE", "open_messages")},
        {&delete_open_message_, "DELETE FROM open_messages WHERE message = ?"},
        {&put_sent_before_, put_sql<SentBefore>("REPLACE", "sent_before")},
        {&delete_sent_before_, "DELETE FROM sent_before WHERE stream = ? AND key = ?"},
        {&add_message_, "INSERT INTO message_contents VALUES(?,?)"},
        {&move_message_, "UPDATE message_contents SET message = ? WHERE message = ?"},
        {&put_dead_letter_, put_sql<DeadLetter>("REPLACE", "dead_letter_rows")},
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
    return load_rows<Put, Record>(*rows, take);
  }

  template <class Put, class Record>
  static Result<void> load_rows(Statement& rows, const std::function<Result<void>(const Mutation&)>& take) {
    while (true) {
      auto row = rows.step();
      if (!row) return pass(row);
      if (!*row) return {};
      auto record = rows.template record<Record>();
      if (!record) return pass(record);
      if (auto done = take(Put{std::move(*record)}); !done) return done;
    }
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
  Result<void> write(const AddAttempt& add) {
    if (add.attempt.settled) {
      Peak& peak = peaks_[{add.attempt.job, ItemBlocks::block_of(add.attempt.item)}];
      peak.wall_us = std::max(peak.wall_us, add.attempt.wall_us);
      peak.peak_memory_kib = std::max(peak.peak_memory_kib, add.attempt.peak_memory_kib);
      peak.gpu_busy_us = std::max(peak.gpu_busy_us, add.attempt.gpu_busy_us);
    }
    return put_record(add_attempt_, add.attempt);
  }
  Result<void> write_peaks() {
    for (const auto& [block, peak] : peaks_) {
      raise_peak_.bind(1, to_cell(block.first)).bind(2, to_cell(block.second));
      raise_peak_.bind(3, to_cell(peak.wall_us))
          .bind(4, to_cell(peak.peak_memory_kib))
          .bind(5, to_cell(peak.gpu_busy_us));
      if (auto done = raise_peak_.run(); !done) return done;
    }
    return {};
  }
  Result<void> write(const UnsettleAttempt& it) {
    return unsettle_.bind(1, to_cell(it.job)).bind(2, to_cell(it.item)).bind(3, to_cell(it.attempt)).run();
  }

  Result<void> write(const DeleteJob& gone) {
    if (auto done = note_deleted_.bind(1, to_cell(gone.job)).run(); !done) return done;
    return delete_job_.bind(1, to_cell(gone.job)).run();
  }

  Result<void> write(const PutQueue& put) { return put_record(put_queue_, put.queue); }
  Result<void> write(const DeleteQueue& gone) { return delete_queue_.bind(1, std::string_view(gone.queue)).run(); }
  Result<void> write(const PutShare& put) { return put_record(put_share_, put.share); }
  Result<void> write(const DeleteShare& gone) {
    return delete_share_.bind(1, std::string_view(gone.queue)).bind(2, std::string_view(gone.share)).run();
  }
  Result<void> write(const PutDefinition& put) { return put_record(put_definition_, put.definition); }
  Result<void> write(const PutFleet& put) { return put_record(put_fleet_, put.fleet); }
  Result<void> write(const PutDocument& put) { return put_record(put_document_, put.document); }
  Result<void> write(const DeleteDocument& gone) {
    return delete_document_.bind(1, std::string_view(gone.kind)).bind(2, std::string_view(gone.name)).run();
  }
  Result<void> write(const DeleteFleet& gone) { return delete_fleet_.bind(1, std::string_view(gone.fleet)).run(); }
  Result<void> write(const PutMachine& put) { return put_record(put_machine_, put.machine); }
  Result<void> write(const DeleteMachine& gone) {
    return delete_machine_.bind(1, std::string_view(gone.machine)).run();
  }
  Result<void> write(const PutAccount& put) { return put_record(put_account_, put.account); }
  Result<void> write(const AddEvent& add) { return put_record(add_event_, add.event); }
  Result<void> write(const ForgetWorker& gone) {
    if (auto done = put_record(put_former_, gone.worker); !done) return done;
    return delete_worker_.bind(1, to_cell(gone.worker.id)).run();
  }

  Result<void> write(const PutStream& put) {
    if (auto done = put_record(put_stream_, put.stream); !done) return done;
    if (!put.stream.purged_before) return {};
    return note_purged_.bind(1, to_cell(put.stream.id)).bind(2, to_cell(put.stream.purged_before)).run();
  }
  Result<void> write(const DeleteStream& gone) {
    note_deleted_stream_.bind(1, to_cell(gone.stream)).bind(2, std::numeric_limits<std::int64_t>::max());
    if (auto done = note_deleted_stream_.run(); !done) return done;
    return delete_stream_.bind(1, to_cell(gone.stream)).run();
  }
  Result<void> write(const PutMessageBlock& put) { return put_record(put_message_block_, put.block); }
  Result<void> write(const DeleteMessageBlock& gone) {
    if (auto done = note_done_block_.bind(1, to_cell(gone.first)).run(); !done) return done;
    return delete_message_block_.bind(1, to_cell(gone.first)).run();
  }
  Result<void> write(const PutOpenMessage& put) { return put_record(put_open_message_, put.message); }
  Result<void> write(const DeleteOpenMessage& gone) {
    return delete_open_message_.bind(1, to_cell(gone.message)).run();
  }
  Result<void> write(const PutSentBefore& put) { return put_record(put_sent_before_, put.sent); }
  Result<void> write(const DeleteSentBefore& gone) {
    return delete_sent_before_.bind(1, to_cell(gone.stream)).bind(2, std::string_view(gone.key)).run();
  }
  Result<void> write(const AddMessage& add) {
    return add_message_.bind(1, to_cell(add.message)).bind_bytes(2, *add.content).run();
  }
  Result<void> write(const MoveMessage& move) {
    if (auto done = move_message_.bind(1, to_cell(move.to.message)).bind(2, to_cell(move.from)).run(); !done)
      return done;
    return put_record(put_dead_letter_, move.to);
  }

  template <class Record>
  static Result<void> put_record(Statement& statement, const Record& record) {
    statement.bind_record(record);
    return statement.run();
  }

  /// What was measured of the items that a commit settles in one block, at most.
  struct Peak {
    std::int64_t wall_us = 0;
    std::int64_t peak_memory_kib = 0;
    std::int64_t gpu_busy_us = 0;
  };

  std::mutex mutex_;  // one writer at a time: commits, and the lists that are being read in
  std::map<std::pair<JobId, std::uint64_t>, Peak> peaks_;  // of the commit under way, by job and block
  Database db_;
  LedgerFile file_;
  Statement clear_counters_, put_counters_, put_job_, put_block_, put_open_, delete_open_, put_grant_, delete_grant_,
      put_worker_, add_attempt_, raise_peak_, unsettle_, note_deleted_, delete_job_, add_chunk_, put_queue_,
      delete_queue_, put_share_, delete_share_, put_definition_, put_fleet_, delete_fleet_, put_machine_,
      delete_machine_, put_document_, delete_document_, put_account_, add_event_, put_former_, delete_worker_,
      put_stream_, note_purged_, note_deleted_stream_, delete_stream_, put_message_block_, note_done_block_,
      delete_message_block_, put_open_message_, delete_open_message_, put_sent_before_, delete_sent_before_,
      add_message_, move_message_, put_dead_letter_;
  Sweeper sweeper_{db_};
  Traffic traffic_ = Traffic::none;

  std::mutex dropped_mutex_;  // guards what follows, and nobody holds it for long
  std::vector<std::int64_t> dropped_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& path, LockNotice notice) {
  auto store = std::make_unique<SqliteStore>();
  if (auto opened = store->open(path, std::move(notice)); !opened) return pass(opened);
  return store;
}

}  // namespace drover
