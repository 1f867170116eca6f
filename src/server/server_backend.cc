#include "server/server_backend.h"

#include <algorithm>
#include <future>
#include <iterator>
#include <set>

#include "base/text.h"
#include "server/log_source.h"
#include "store/ledger_query.h"
#include "store/manifest.h"
#include "wire/message_content.h"
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

// Of all jobs' lists of items together.
constexpr std::size_t kMostChunkBytes = std::size_t{32} << 20;
constexpr std::int64_t kLongestSqlMs = 5000;
constexpr std::size_t kMostSqlBytes = std::size_t{32} << 20;
// Each is in memory until its answer was sent.
constexpr HolderCounts::Limits kSqlLimits{.total = 32, .each = 4, .reserved = 8};

std::size_t size_of(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return text->size() + 16;
  if (const auto* bytes = std::get_if<Bytes>(&cell)) return bytes->value.size() + 16;
  return 16;
}

/// What workers have named as running.
Result<std::set<ItemIndex>> running_items(StoreReader& reader, JobId job, ItemSpan among) {
  std::set<ItemIndex> running;
  auto read = reader.each_open_item(job, among, [&](const OpenItem& item) {
    if (!item.waiting() && item.counted) running.insert(item.item);
  });
  if (!read) return pass(read);
  return running;
}

struct RunsOn {
  std::string worker;
  std::int64_t since_ms = 0;
};

/// Where items from `first` to `last` run that workers have named as running.
Result<std::map<ItemIndex, RunsOn>> places_of_running(const std::string& ledger, JobId job, ItemIndex first,
                                                      ItemIndex last) {
  std::map<ItemIndex, RunsOn> places;
  const QuerySink sink{.columns = [](const std::vector<std::string>&) {},
                       .row =
                           [&](const std::vector<Cell>& cells) {
                             const auto* item = std::get_if<std::int64_t>(&cells[0]);
                             const auto* worker = std::get_if<std::string>(&cells[1]);
                             const auto* since_ms = std::get_if<std::int64_t>(&cells[2]);
                             if (item != nullptr && worker != nullptr && since_ms != nullptr) {
                               places[ItemIndex{static_cast<std::uint64_t>(*item)}] = {*worker, *since_ms};
                             }
                             return true;
                           }};
  auto read = query_ledger(ledger,
                           concat("SELECT item, name, started_ms FROM open_items JOIN grants USING (grant_id) "
                                  "JOIN workers USING (worker) WHERE open_items.counted AND open_items.job = ",
                                  job.value, " AND item BETWEEN ", first.value, " AND ", last.value),
                           {.time_ms = kLongestSqlMs}, sink);
  if (!read) return pass(read);
  return places;
}

}  // namespace

ServerBackend::ServerBackend(Parts parts, FreeSpace space)
    : parts_(std::move(parts)),
      space_(std::move(space)),
      chunks_(std::make_shared<ManifestChunks>(kMostChunkBytes)),
      searches_([this](const Holder& holder,
                       std::function<void()> work) { parts_.readers.for_searches.post(holder, std::move(work)); },
                parts_.logs),
      sql_quota_("queries", kSqlLimits) {}

void ServerBackend::remove_job(JobId job, std::function<void(Result<Effect>)> answered) {
  constexpr std::int64_t kWheneverItEnded = std::numeric_limits<std::int64_t>::max();
  post(ForgetJob{job, kWheneverItEnded}, [this, job, answered = std::move(answered)](Result<Effect> answer) {
    if (answer) {
      const std::scoped_lock lock(mutex_);
      removed_.push_back(job);
    }
    answered(std::move(answer));
  });
}

std::vector<JobId> ServerBackend::take_removed() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(removed_, {});
}

void ServerBackend::post(Command command, std::function<void(Result<Effect>)> answered) {
  if (std::holds_alternative<SendMessages>(command)) {
    if (auto room = space_.check(); !room) return answered(pass(room));
  }
  std::string stream = changed_stream(command);
  if (stream.empty()) return parts_.engine.post(std::move(command), std::move(answered));
  // Answers come in the order of commits; whoever hears of a change can see it.
  parts_.engine.post(std::move(command),
                     [this, stream = std::move(stream), answered = std::move(answered)](Result<Effect> effect) {
                       if (effect) streams_.take(*effect, stream);
                       answered(std::move(effect));
                     });
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
  std::optional<ItemState> only;
  if (!question.state.empty()) {
    only = item_state_from(question.state);
    if (!only) {
      return fail(ErrorCode::bad_input, concat("invalid item state '", question.state, "'"),
                  "use pending, waiting, running, succeeded, failed or cancelled");
    }
  }
  // Without a state that must be looked for, it is known how far one has to look.
  ItemSpan among{question.from};
  if (!only) among.last = ItemIndex{std::min(question.from.value + question.limit, kMostItems) - 1};
  StoreReader& reader = ReadPool::reader();
  auto running = running_items(reader, job.id, among);
  if (!running) return pass(running);
  std::vector<ItemView> out;
  auto listed = list_items(reader, job, *running, {.among = among, .only = only}, [&](const ListedItem& item) {
    if (out.size() >= question.limit) return false;
    out.push_back({item.item, to_string(item.state), item.attempts, item.last, {}});
    return out.size() < question.limit;
  });
  if (!listed) return pass(listed);
  if (auto described = describe(job, out); !described) return pass(described);
  if (running->empty() || out.empty()) return out;
  auto places = places_of_running(parts_.ledger, job.id, out.front().item, out.back().item);
  if (!places) return pass(places);
  for (ItemView& item : out) {
    const auto place = places->find(item.item);
    if (place == places->end()) continue;
    item.worker = place->second.worker;
    item.since_ms = place->second.since_ms;
  }
  return out;
}

Result<void> ServerBackend::describe(const Job& job, std::vector<ItemView>& items) {
  StoreReader& reader = ReadPool::reader();
  auto described = job.stream.empty() ? describe_by_list(job, items) : describe_by_messages(job, items);
  if (!described) return described;
  for (ItemView& item : items) {
    if (!item.last) continue;
    auto name = reader.worker_name(item.last->worker);
    if (!name) return pass(name);
    item.worker = std::move(*name);
  }
  return {};
}

Result<void> ServerBackend::describe_by_list(const Job& job, std::vector<ItemView>& items) {
  StoreReader& reader = ReadPool::reader();
  auto info = reader.manifest(job.manifest);
  if (!info) return pass(info);
  ManifestReader manifest(reader, job.manifest, *info, chunks_);
  for (ItemView& item : items) {
    auto text = manifest.item(item.item);
    if (!text) return pass(text);
    item.text = std::move(*text);
  }
  return {};
}

// Of items that are settled the messages are gone, or somebody else's.
Result<void> ServerBackend::describe_by_messages(const Job& job, std::vector<ItemView>& items) {
  Result<void> decoded;
  for (ItemView& item : items) {
    const auto take = [&](ItemIndex /*index*/, const std::string& content) {
      auto message = decode_message(content);
      if (message) item.text = std::move(message->body);
      if (!message) decoded = pass(message);
      return false;
    };
    if (auto read = ReadPool::reader().each_item_message(job.id, {item.item, item.item}, take); !read) return read;
  }
  return decoded;
}

// What settled an item says how it stands: nothing else needs to be read.
Result<std::vector<ItemView>> ServerBackend::ended_items(const Job& job, AttemptOrder order, std::uint64_t skip,
                                                         std::uint64_t limit) {
  auto settled = ReadPool::reader().settled_by(job.id, order, skip, limit);
  if (!settled) return pass(settled);
  std::vector<ItemView> out;
  for (Attempt& it : *settled) {
    const bool has_failed = it.state == AttemptState::failed || it.state == AttemptState::lost;
    out.push_back({it.item, has_failed ? "failed" : to_string(it.state), it.attempt.value, std::move(it), {}});
  }
  if (auto described = describe(job, out); !described) return pass(described);
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

void ServerBackend::ask_sql(std::string query, std::uint64_t most_rows, const Holder& holder,
                            std::function<void(const Result<SqlAnswer>&)> answered) {
  auto share = sql_quota_.take(holder);
  if (!share) return answered(pass(share));
  parts_.readers.for_searches.post(
      holder, [this, query = std::move(query), most_rows, share = std::move(*share), answered = std::move(answered)] {
        SqlAnswer out{.share = share};
        std::size_t bytes = 0;
        const QuerySink sink{.columns = [&](const std::vector<std::string>& names) { out.columns = names; },
                             .row =
                                 [&](const std::vector<Cell>& cells) {
                                   for (const Cell& cell : cells) bytes += size_of(cell);
                                   out.cut = out.rows.size() >= most_rows || bytes > kMostSqlBytes;
                                   if (!out.cut) out.rows.push_back(cells);
                                   return !out.cut;
                                 }};
        const QueryLimits limits{.time_ms = kLongestSqlMs, .stop = sql_stop_.get_token()};
        if (auto done = query_ledger(parts_.ledger, query, limits, sink); !done) return answered(pass(done));
        answered(std::move(out));
      });
}

void ServerBackend::stop_searches() {
  searches_.stop();
  sql_stop_.request_stop();
}

Result<std::unique_ptr<HttpBodySource>> ServerBackend::log(const LogQuestion& question,
                                                           const std::vector<Attempt>& attempts) {
  return log_body(parts_.logs, attempts, question);
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

void ServerBackend::forget(WorkerId worker) {
  const std::scoped_lock lock(mutex_);
  seen_.erase(worker);
}

void ServerBackend::note_seen(WorkerId worker) {
  const std::scoped_lock lock(mutex_);
  if (const auto it = seen_.find(worker); it != seen_.end()) it->second.seen_ms = parts_.engine.now_ms();
}

void ServerBackend::note_version(WorkerId worker, const std::string& version) {
  const std::scoped_lock lock(mutex_);
  const auto it = seen_.find(worker);
  if (it != seen_.end() && it->second.version != version) it->second.version = version;
}

void ServerBackend::note_devices(WorkerId worker, std::vector<DeviceState> devices) {
  const std::scoped_lock lock(mutex_);
  if (const auto it = seen_.find(worker); it != seen_.end()) it->second.devices = std::move(devices);
}

Result<std::vector<WorkerView>> ServerBackend::workers() {
  auto stored = ReadPool::reader().workers();
  if (!stored) return pass(stored);
  const std::scoped_lock lock(mutex_);
  std::vector<WorkerView> out;
  for (Worker& worker : *stored) {
    const auto seen = seen_.find(worker.id);
    if (seen == seen_.end()) continue;
    if (worker.registered_ms == 0 && worker.state == WorkerState::alive) continue;  // from a restored ledger
    // Of one that is gone nobody knows what its devices do.
    const bool is_there = worker.state == WorkerState::alive && worker.registered_ms != 0;
    out.push_back({.worker = std::move(worker),
                   .seen_ms = seen->second.seen_ms,
                   .version = seen->second.version,
                   .standing = seen->second.standing,
                   .devices = is_there ? seen->second.devices : std::vector<DeviceState>()});
  }
  return out;
}

// Page by page, so that others have their turn in between.
Result<std::vector<StreamView>> ServerBackend::streams(std::uint64_t most) {
  constexpr std::uint64_t kPage = 100;
  std::vector<StreamView> out;
  while (out.size() < most) {
    const AskStreams question{.stream = {},
                              .after = out.empty() ? "" : out.back().stream.name,
                              .most = std::min<std::uint64_t>(most - out.size(), kPage)};
    const auto answer = std::make_shared<std::promise<Result<Effect>>>();
    auto answered = answer->get_future();
    post(question, [answer](Result<Effect> effect) { answer->set_value(std::move(effect)); });
    auto effect = answered.get();
    if (!effect) return pass(effect);
    std::vector<StreamView>& page = std::get<StreamsNow>(*effect).streams;
    std::ranges::move(page, std::back_inserter(out));
    if (page.size() < question.most) break;
  }
  return out;
}

}  // namespace drover
