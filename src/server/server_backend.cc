#include "server/server_backend.h"

#include <set>

#include "base/text.h"
#include "server/log_source.h"
#include "server/search_reply.h"
#include "store/ledger_query.h"
#include "store/manifest.h"
#include "worker/item_list.h"
#include "worker/local_run.h"

namespace drover {
namespace {

class StoredItems : public ItemIntake {
 public:
  explicit StoredItems(std::unique_ptr<ManifestWriter> writer) : writer_(std::move(writer)) {}
  Result<void> add(std::string_view item) override { return writer_->add(item); }
  Result<NewManifest> finish(Lasting lasting) override {
    auto written = writer_->finish(lasting);
    if (!written) return pass(written);
    return NewManifest{written->id, written->items};
  }

 private:
  std::unique_ptr<ManifestWriter> writer_;
};

constexpr std::int64_t kLongestSqlMs = 5000;
constexpr std::size_t kMostSqlBytes = std::size_t{32} << 20;

std::size_t size_of(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return text->size() + 16;
  if (const auto* bytes = std::get_if<Bytes>(&cell)) return bytes->value.size() + 16;
  return 16;
}

/// What workers have named as running.
Result<std::set<ItemIndex>> running_items(StoreReader& reader, JobId job) {
  std::set<ItemIndex> running;
  auto read = reader.each_open_item(job, [&](const OpenItem& item) {
    if (!item.waiting() && item.counted) running.insert(item.item);
  });
  if (!read) return pass(read);
  return running;
}

}  // namespace

void ServerBackend::post(Command command, std::function<void(Result<Effect>)> answered) {
  parts_.engine.post(std::move(command), std::move(answered));
}

Result<std::unique_ptr<ItemIntake>> ServerBackend::begin_items() {
  if (auto room = space_.check(); !room) return pass(room);
  auto writer = ManifestWriter::begin(parts_.store);
  if (!writer) return pass(writer);
  return std::make_unique<StoredItems>(std::move(*writer));
}

Result<NewManifest> ServerBackend::add_range(std::int64_t first, std::uint64_t count) {
  if (auto room = space_.check(); !room) return pass(room);
  auto written = write_range_manifest(parts_.store, first, count);
  if (!written) return pass(written);
  return NewManifest{written->id, written->items};
}

Result<std::vector<ItemView>> ServerBackend::items(const Job& job, const ItemQuestion& question) {
  StoreReader& reader = ReadPool::reader();
  auto running = running_items(reader, job.id);
  if (!running) return pass(running);
  std::optional<ItemState> only;
  if (!question.state.empty()) {
    only = item_state_from(question.state);
    if (!only) {
      return fail(ErrorCode::bad_input, concat("'", question.state, "' is no state of an item"),
                  "say pending, waiting, running, succeeded, failed or cancelled");
    }
  }
  std::vector<ItemView> out;
  auto listed = list_items(reader, job, *running, {.from = question.from, .only = only}, [&](const ListedItem& item) {
    if (out.size() >= question.limit) return false;
    out.push_back({item.item, to_string(item.state), item.attempts, item.last, {}});
    return out.size() < question.limit;
  });
  if (!listed) return pass(listed);
  if (out.empty()) return out;
  // One reader for all of them: neighbours are in the same chunk.
  auto manifest = ManifestReader::open(reader, job.manifest);
  if (!manifest) return pass(manifest);
  for (ItemView& item : out) {
    auto text = manifest->item(item.item);
    if (!text) return pass(text);
    item.text = std::move(*text);
  }
  return out;
}

Result<std::vector<Attempt>> ServerBackend::attempts(JobId job, ItemIndex item) {
  std::vector<Attempt> out;
  auto read = ReadPool::reader().each_attempt(job, item, [&](const Attempt& attempt) {
    if (attempt.item == item) out.push_back(attempt);
    return attempt.item == item;
  });
  if (!read) return pass(read);
  return out;
}

void ServerBackend::ask_sql(std::string query, std::uint64_t most_rows,
                            std::function<void(const Result<SqlAnswer>&)> answered) {
  parts_.readers.for_searches.post([this, query = std::move(query), most_rows, answered = std::move(answered)] {
    SqlAnswer out;
    std::size_t bytes = 0;
    const QuerySink sink{.columns = [&](const std::vector<std::string>& names) { out.columns = names; },
                         .row =
                             [&](const std::vector<Cell>& cells) {
                               for (const Cell& cell : cells) bytes += size_of(cell);
                               out.cut = out.rows.size() >= most_rows || bytes > kMostSqlBytes;
                               if (!out.cut) out.rows.push_back(cells);
                               return !out.cut;
                             }};
    if (auto done = query_ledger(parts_.ledger, query, kLongestSqlMs, sink); !done) return answered(pass(done));
    answered(std::move(out));
  });
}

Result<std::unique_ptr<HttpBodySource>> ServerBackend::log(const LogQuestion& question) {
  auto found = attempts(question.job, question.item);
  if (!found) return pass(found);
  return log_body(parts_.logs, *found, question);
}

void ServerBackend::search(const SearchQuestion& question, HttpReply reply) {
  parts_.readers.for_searches.post([this, question, reply = std::make_shared<HttpReply>(std::move(reply))] {
    answer_search(ReadPool::reader(), parts_.logs, question, std::move(*reply));
  });
}

void ServerBackend::know(const std::vector<Worker>& workers) {
  const std::scoped_lock lock(mutex_);
  for (const Worker& worker : workers) seen_[worker.id];
}

void ServerBackend::note_worker(WorkerId worker, const std::string& version) {
  const std::scoped_lock lock(mutex_);
  Seen& seen = seen_[worker];
  seen.version = version;
  seen.seen_ms = parts_.engine.now_ms();
}

void ServerBackend::note_standing(const WorkerStands& said) {
  const std::scoped_lock lock(mutex_);
  seen_[said.worker].standing = said.standing;
}

void ServerBackend::note_seen(WorkerId worker) {
  const std::scoped_lock lock(mutex_);
  if (const auto it = seen_.find(worker); it != seen_.end()) it->second.seen_ms = parts_.engine.now_ms();
}

Result<std::vector<WorkerView>> ServerBackend::workers() {
  auto stored = ReadPool::reader().workers();
  if (!stored) return pass(stored);
  const std::scoped_lock lock(mutex_);
  std::vector<WorkerView> out;
  for (Worker& worker : *stored) {
    const auto seen = seen_.find(worker.id);
    if (seen == seen_.end() || seen->second.seen_ms == 0) continue;
    const bool is_lost = worker.term_ms > 0 && parts_.engine.now_ms() - seen->second.seen_ms > worker.term_ms;
    out.push_back({.worker = std::move(worker),
                   .is_lost = is_lost,
                   .seen_ms = seen->second.seen_ms,
                   .version = seen->second.version,
                   .standing = seen->second.standing});
  }
  return out;
}

}  // namespace drover
