#include "base/text.h"
#include "sqlite/database.h"
#include "sqlite/idle_statements.h"
#include "store/largest_first.h"
#include "store/read_only.h"
#include "store/record_sql.h"
#include "store/sqlite_store.h"

namespace drover {
namespace {

class SqliteReader : public StoreReader {
 public:
  explicit SqliteReader(Database db) : db_(std::move(db)) {}

  Result<std::vector<Job>> jobs() override { return all<Job>("jobs", "job"); }
  Result<std::vector<Worker>> workers() override { return all<Worker>("workers", "worker"); }
  Result<std::string> worker_name(WorkerId id) override {
    auto rows =
        lend("SELECT name FROM workers WHERE worker = ?1 UNION ALL SELECT name FROM former_workers WHERE worker = ?1");
    if (!rows) return pass(rows);
    auto row = rows->bind(1, to_cell(id)).step();
    if (!row) return pass(row);
    return *row ? rows->text(0) : std::string();
  }
  Result<std::vector<Queue>> queues() override { return all<Queue>("queues", "name"); }
  Result<std::vector<ShareRecord>> shares() override { return all<ShareRecord>("shares", "queue, share"); }
  Result<std::vector<NamedDefinition>> named_definitions() override {
    return all<NamedDefinition>("named_definitions", "name, revision");
  }
  Result<std::vector<Fleet>> fleets() override { return all<Fleet>("fleets", "name"); }
  Result<std::vector<Machine>> machines() override { return all<Machine>("machines", "fleet, requested_ms, name"); }
  Result<std::vector<Document>> documents(const std::string& kind) override {
    auto rows = lend(select_sql<Document>("documents") + " WHERE kind = ? ORDER BY name");
    if (!rows) return pass(rows);
    rows->bind(1, std::string_view(kind));
    std::vector<Document> out;
    auto done = each<Document>(*rows, [&](Document it) {
      out.push_back(std::move(it));
      return true;
    });
    if (!done) return pass(done);
    return out;
  }
  Result<std::optional<Document>> document(const std::string& kind, const std::string& name) override {
    auto rows = lend(select_sql<Document>("documents") + " WHERE kind = ? AND name = ?");
    if (!rows) return pass(rows);
    rows->bind(1, std::string_view(kind)).bind(2, std::string_view(name));
    return one<Document>(*rows);
  }
  Result<std::vector<Account>> accounts() override { return all<Account>("accounts", "owner"); }
  Result<std::vector<Stream>> streams() override { return all<Stream>("streams", "name"); }
  Result<std::optional<Stream>> stream(const std::string& name) override {
    auto rows = lend(select_sql<Stream>("streams") + " WHERE name = ?");
    if (!rows) return pass(rows);
    rows->bind(1, std::string_view(name));
    return one<Stream>(*rows);
  }
  Result<std::optional<std::string>> message(MessageNumber message) override {
    auto rows = lend("SELECT content FROM message_contents WHERE message = ?");
    if (!rows) return pass(rows);
    auto row = rows->bind(1, to_cell(message)).step();
    if (!row) return pass(row);
    if (!*row) return std::nullopt;
    return rows->text(0);
  }
  Result<void> each_item_message(JobId job, ItemSpan items,
                                 const std::function<bool(ItemIndex item, std::string content)>& take) override {
    auto rows = lend(
        "SELECT job_item, content FROM open_messages JOIN message_contents USING(message)"
        " WHERE job = ? AND job > 0 AND job_item BETWEEN ? AND ? ORDER BY job_item");
    if (!rows) return pass(rows);
    rows->bind(1, to_cell(job)).bind(2, to_cell(items.first)).bind(3, to_cell(items.last));
    while (true) {
      auto row = rows->step();
      if (!row) return pass(row);
      if (!*row || !take(ItemIndex{static_cast<std::uint64_t>(rows->number(0))}, rows->text(1))) return {};
    }
  }
  Result<std::optional<DeadLetter>> dead_letter(MessageNumber message) override {
    auto rows = lend(select_sql<DeadLetter>("dead_letter_rows") + " WHERE message = ?");
    if (!rows) return pass(rows);
    rows->bind(1, to_cell(message));
    return one<DeadLetter>(*rows);
  }

  Result<void> each_event(EventId after, const std::function<bool(const Event&)>& take) override {
    auto rows = lend(select_sql<Event>("events") + " WHERE event > ? ORDER BY event");
    if (!rows) return pass(rows);
    rows->bind(1, to_cell(after));
    return each<Event>(*rows, take);
  }

  Result<EventId> newest_event() override {
    auto rows = lend("SELECT max(event) FROM events");
    if (!rows) return pass(rows);
    auto row = rows->step();
    if (!row) return pass(row);
    const Cell newest = rows->cell(0);
    EventId out;
    if (!std::holds_alternative<std::monostate>(newest) && !from_cell(newest, out)) {
      return fail(ErrorCode::damaged, "an event has no number");
    }
    return out;
  }

  Result<Job> job(JobId id) override {
    auto rows = lend(select_sql<Job>("jobs") + " WHERE job = ?");
    if (!rows) return pass(rows);
    auto row = rows->bind(1, to_cell(id)).step();
    if (!row) return pass(row);
    if (!*row) return fail(ErrorCode::not_found, concat("job ", id.value, " not found"));
    return rows->record<Job>();
  }

  Result<std::vector<EndedAt>> jobs_ended_by(std::int64_t ended_by_ms, EndedAt after, std::uint64_t limit) override {
    auto rows = lend(
        "SELECT ended_ms, job FROM jobs WHERE ended_ms > 0 AND (ended_ms, job) > (?, ?) AND ended_ms <= ?"
        " ORDER BY ended_ms, job LIMIT ?");
    if (!rows) return pass(rows);
    rows->bind(1, to_cell(after.ended_ms))
        .bind(2, to_cell(after.job))
        .bind(3, to_cell(ended_by_ms))
        .bind(4, to_cell(limit));
    std::vector<EndedAt> out;
    while (true) {
      auto row = rows->step();
      if (!row) return pass(row);
      if (!*row) return out;
      EndedAt& it = out.emplace_back();
      if (!from_cell(rows->cell(0), it.ended_ms) || !from_cell(rows->cell(1), it.job)) {
        return fail(ErrorCode::damaged, concat(db_.path(), ": a stored job cannot be read"));
      }
    }
  }

  Result<bool> has_job_created_by(std::int64_t created_by_ms) override {
    auto rows = lend("SELECT 1 FROM jobs WHERE created_ms <= ? LIMIT 1");
    if (!rows) return pass(rows);
    return rows->bind(1, to_cell(created_by_ms)).step();
  }

  Result<std::string> definition(DefinitionId id) override {
    auto rows = lend("SELECT text FROM definitions WHERE definition = ?");
    if (!rows) return pass(rows);
    auto row = rows->bind(1, to_cell(id)).step();
    if (!row) return pass(row);
    if (!*row) return fail(ErrorCode::damaged, concat(db_.path(), ": definition ", id.value, " is missing"));
    return rows->text(0);
  }

  Result<ManifestInfo> manifest(ManifestId id) override {
    auto rows = lend("SELECT kind, items, first_number FROM manifests WHERE manifest = ? AND items IS NOT NULL");
    if (!rows) return pass(rows);
    auto row = rows->bind(1, to_cell(id)).step();
    if (!row) return pass(row);
    if (!*row) return fail(ErrorCode::damaged, concat(db_.path(), ": manifest ", id.value, " is missing"));
    return ManifestInfo{rows->number(0) == 1 ? ManifestKind::range : ManifestKind::list,
                        static_cast<std::uint64_t>(rows->number(1)), rows->number(2)};
  }

  Result<ManifestChunk> chunk(ManifestId manifest, ItemIndex item) override {
    if (!chunk_) {
      auto prepared = db_.prepare(
          "SELECT first, count, data FROM manifest_chunks WHERE manifest = ? AND first <= ? ORDER BY first DESC LIMIT "
          "1");
      if (!prepared) return pass(prepared);
      chunk_ = std::move(*prepared);
    }
    auto row = chunk_.bind(1, to_cell(manifest)).bind(2, to_cell(item)).step();
    if (!row) return pass(row);
    ManifestChunk chunk;
    const bool found = *row && from_cell(chunk_.cell(0), chunk.first) && from_cell(chunk_.cell(1), chunk.count) &&
                       from_cell(chunk_.cell(2), chunk.data) && item.value < chunk.first.value + chunk.count;
    chunk_.reset();
    if (!found) return fail(ErrorCode::damaged, concat(db_.path(), ": item ", item.value, " is not in the manifest"));
    return chunk;
  }

  Result<std::vector<Attempt>> settled_by(JobId job, AttemptOrder order, std::uint64_t skip,
                                          std::uint64_t limit) override {
    return largest_first(db_, job, order, skip, limit);
  }

  Result<std::vector<FailedAlike>> failures(JobId job) override {
    auto rows = lend(
        "SELECT ending, exit_code, signal, count(*), min(item), reason, last_line FROM attempt_rows"
        " WHERE job = ? AND settled AND state = 2 GROUP BY ending, exit_code, signal ORDER BY 4 DESC, 5");
    if (!rows) return pass(rows);
    rows->bind(1, to_cell(job));
    std::vector<FailedAlike> out;
    while (true) {
      auto row = rows->step();
      if (!row) return pass(row);
      if (!*row) return out;
      FailedAlike group;
      const bool read = from_cell(rows->cell(0), group.ending) && from_cell(rows->cell(1), group.exit_code) &&
                        from_cell(rows->cell(2), group.signal) && from_cell(rows->cell(3), group.items) &&
                        from_cell(rows->cell(4), group.example) && from_cell(rows->cell(5), group.reason) &&
                        from_cell(rows->cell(6), group.last_line);
      if (!read) return fail(ErrorCode::damaged, concat(db_.path(), ": a stored attempt cannot be read"));
      out.push_back(std::move(group));
    }
  }

  Result<void> each_block(JobId job, ItemSpan items, const std::function<void(const BlockRecord&)>& take) override {
    const ItemSpan blocks{ItemIndex{ItemBlocks::block_of(items.first)}, ItemIndex{ItemBlocks::block_of(items.last)}};
    return each_of_job<BlockRecord>("blocks", job, blocks, "block", [&](const BlockRecord& block) {
      take(block);
      return true;
    });
  }

  Result<std::optional<Grant>> grant(GrantId id) override {
    auto rows = lend(select_sql<Grant>("grants") + " WHERE grant_id = ?");
    if (!rows) return pass(rows);
    auto row = rows->bind(1, to_cell(id)).step();
    if (!row) return pass(row);
    if (!*row) return std::nullopt;
    return rows->record<Grant>();
  }

  Result<void> each_open_item(JobId job, ItemSpan items, const std::function<void(const OpenItem&)>& take) override {
    return each_of_job<OpenItem>("open_items", job, items, "item", [&](const OpenItem& item) {
      take(item);
      return true;
    });
  }

  Result<void> each_attempt(JobId job, ItemIndex from, const std::function<bool(const Attempt&)>& take) override {
    return each_of_job<Attempt>("attempt_rows", job, {from}, "item, attempt", take);
  }

 private:
  /// The first of the rows, if there is one.
  template <class Record>
  static Result<std::optional<Record>> one(Statement& rows) {
    auto row = rows.step();
    if (!row) return pass(row);
    if (!*row) return std::nullopt;
    auto found = rows.template record<Record>();
    if (!found) return pass(found);
    return std::move(*found);
  }
  template <class Record>
  Result<std::vector<Record>> all(std::string_view table, std::string_view order) {
    auto rows = lend(concat(select_sql<Record>(table), " ORDER BY ", order));
    if (!rows) return pass(rows);
    std::vector<Record> records;
    auto done = each<Record>(*rows, [&](Record record) {
      records.push_back(std::move(record));
      return true;
    });
    if (!done) return pass(done);
    return records;
  }

  template <class Record, class Take>
  Result<void> each(Statement& rows, Take&& take) {
    while (true) {
      auto row = rows.step();
      if (!row) return pass(row);
      if (!*row) return {};
      auto record = rows.template record<Record>();
      if (!record) return pass(record);
      if (!take(std::move(*record))) return {};
    }
  }

  // `order` names the key behind the job; rows whose first column is outside of `span` are left out.
  template <class Record, class Take>
  Result<void> each_of_job(std::string_view table, JobId job, ItemSpan span, std::string_view order, Take&& take) {
    const std::string_view first = order.substr(0, order.find(','));
    auto rows =
        lend(concat(select_sql<Record>(table), " WHERE job = ? AND ", first, " BETWEEN ? AND ? ORDER BY job, ", order));
    if (!rows) return pass(rows);
    rows->bind(1, to_cell(job)).bind(2, to_cell(span.first)).bind(3, to_cell(span.last));
    return each<Record>(*rows, take);
  }

  Result<IdleStatements::Lent> lend(std::string_view sql) { return statements_.lend(db_, sql); }

  Database db_;
  IdleStatements statements_;
  Statement chunk_;
};

}  // namespace

Result<std::unique_ptr<StoreReader>> open_sqlite_reader(const std::string& path) {
  auto db = open_read_only(path);
  if (!db) return pass(db);
  return std::make_unique<SqliteReader>(std::move(*db));
}

}  // namespace drover
