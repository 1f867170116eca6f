#include "store/memory_store.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/check.h"
#include "base/text.h"
#include "ports/loaded_blocks.h"

namespace drover {

struct MemoryStore::Writer {
  MemoryStore& store;

  void operator()(const PutCounters& it) { store.rows_.put(it.counters); }
  void operator()(const PutJob& it) { store.rows_.put(it.job); }
  void operator()(const PutBlock& it) { store.rows_.put(it.block); }
  void operator()(const PutOpenItem& it) { store.rows_.put(it.item); }
  void operator()(const DeleteOpenItem& it) { store.rows_.of<OpenItem>().erase(row_key(it.job.value, it.item.value)); }
  void operator()(const PutGrant& it) { store.rows_.put(it.grant); }
  void operator()(const DeleteGrant& it) { store.rows_.of<Grant>().erase(row_key(it.grant.value)); }
  void operator()(const PutWorker& it) { store.rows_.put(it.worker); }
  void operator()(const AddAttempt& it) { store.rows_.put(it.attempt); }
  void operator()(const DeleteJob& it) {
    const std::string prefix = row_key(it.job.value);
    store.rows_.of<Job>().erase(prefix);
    const auto erase_all = [&](MemoryRows::Table& rows) {
      const auto first = rows.lower_bound(prefix);
      auto end = first;
      while (end != rows.end() && end->first.starts_with(prefix)) ++end;
      rows.erase(first, end);
    };
    erase_all(store.rows_.of<BlockRecord>());
    erase_all(store.rows_.of<OpenItem>());
    erase_all(store.rows_.of<Attempt>());
  }
  void operator()(const PutQueue& it) { store.rows_.put(it.queue); }
  void operator()(const DeleteQueue& it) { store.rows_.of<Queue>().erase(it.queue); }
  void operator()(const PutShare& it) { store.rows_.put(it.share); }
  void operator()(const DeleteShare& it) { store.rows_.of<ShareRecord>().erase(it.queue + '\0' + it.share); }
  void operator()(const PutDefinition& it) { store.rows_.put(it.definition); }
  void operator()(const PutFleet& it) { store.rows_.put(it.fleet); }
  void operator()(const DeleteFleet& it) { store.rows_.of<Fleet>().erase(it.fleet); }
  void operator()(const PutMachine& it) { store.rows_.put(it.machine); }
  void operator()(const DeleteMachine& it) { store.rows_.of<Machine>().erase(it.machine); }
  void operator()(const PutDocument& it) { store.rows_.put(it.document); }
  void operator()(const DeleteDocument& it) { store.rows_.of<Document>().erase(it.kind + '\0' + it.name); }
  void operator()(const PutAccount& it) { store.rows_.put(it.account); }
  void operator()(const AddEvent& it) { store.rows_.put(it.event); }
  void operator()(const ForgetWorker& it) {
    store.rows_.put(it.worker);
    store.rows_.of<Worker>().erase(row_key(it.worker.id.value));
  }
  void operator()(const PutStream& it) {
    store.rows_.put(it.stream);
    drop_messages(it.stream.id, it.stream.purged_before.value);
  }
  void operator()(const DeleteStream& it) {
    store.rows_.of<Stream>().erase(row_key(it.stream.value));
    drop_messages(it.stream, ~std::uint64_t{0});
    std::erase_if(store.rows_.of<SentBefore>(),
                  [&](const auto& row) { return row.first.starts_with(row_key(it.stream.value)); });
  }
  void operator()(const PutMessageBlock& it) { store.rows_.put(it.block); }
  void operator()(const DeleteMessageBlock& it) { drop_block(it.first); }
  void operator()(const PutOpenMessage& it) { store.rows_.put(it.message); }
  void operator()(const DeleteOpenMessage& it) { store.rows_.of<OpenMessage>().erase(row_key(it.message.value)); }
  void operator()(const PutSentBefore& it) { store.rows_.put(it.sent); }
  void operator()(const DeleteSentBefore& it) { store.rows_.of<SentBefore>().erase(row_key(it.stream.value) + it.key); }
  void operator()(const AddMessage& it) { store.contents_[it.message] = *it.content; }
  void operator()(const MoveMessage& it) {
    auto content = store.contents_.extract(it.from);
    if (!content.empty()) store.contents_[it.to.message] = std::move(content.mapped());
    store.rows_.put(it.to);
  }
  void drop_messages(StreamId stream, std::uint64_t before) {
    std::vector<MessageNumber> firsts;
    DROVER_CHECK(store.rows_
                     .each<MessageBlock>({}, {},
                                         [&](const MessageBlock& block) -> Result<bool> {
                                           if (block.stream == stream && block.first.value < before)
                                             firsts.push_back(block.first);
                                           return true;
                                         })
                     .has_value(),
                 "blocks that were written can be read");
    for (const MessageNumber first : firsts) drop_block(first);
  }
  void drop_block(MessageNumber first) {
    store.rows_.of<MessageBlock>().erase(row_key(first.value));
    const MessageNumber end{first.value + MessageBlock::kMessages};
    const auto erase_from = [&](auto& rows, const auto& from, const auto& to) {
      rows.erase(rows.lower_bound(from), rows.lower_bound(to));
    };
    erase_from(store.rows_.of<OpenMessage>(), row_key(first.value), row_key(end.value));
    erase_from(store.rows_.of<DeadLetter>(), row_key(first.value), row_key(end.value));
    erase_from(store.contents_, first, end);
  }
  void operator()(const UnsettleAttempt& it) {
    const auto row =
        store.rows_.of<Attempt>().find(row_key(it.job.value, it.item.value, std::uint64_t{it.attempt.value}));
    if (row == store.rows_.of<Attempt>().end()) return;
    auto attempt = MemoryRows::read<Attempt>(row->second);
    attempt->settled = false;
    store.rows_.put(*attempt);
  }
};

Result<void> MemoryStore::load(const std::function<Result<void>(const Mutation&)>& take) {
  const auto load_all = [&]<class Put, class Record>() {
    return rows_.each<Record>({}, {}, [&](Record record) -> Result<bool> {
      auto done = take(Put{std::move(record)});
      if (!done) return pass(done);
      return true;
    });
  };
  if (auto done = load_all.operator()<PutCounters, Counters>(); !done) return done;
  std::set<JobId> with_blocks;
  auto jobs = rows_.each<Job>({}, {}, [&](Job job) -> Result<bool> {
    add_jobs_with_blocks(job, with_blocks);
    auto done = take(PutJob{std::move(job)});
    if (!done) return pass(done);
    return true;
  });
  if (!jobs) return jobs;
  for (const JobId id : with_blocks) {
    auto blocks = rows_.each<BlockRecord>(row_key(id.value), row_key(id.value), [&](BlockRecord block) -> Result<bool> {
      auto done = take(PutBlock{std::move(block)});
      if (!done) return pass(done);
      return true;
    });
    if (!blocks) return blocks;
  }
  if (auto done = load_all.operator()<PutOpenItem, OpenItem>(); !done) return done;
  if (auto done = load_all.operator()<PutGrant, Grant>(); !done) return done;
  if (auto done = load_all.operator()<PutWorker, Worker>(); !done) return done;
  if (auto done = load_all.operator()<PutQueue, Queue>(); !done) return done;
  if (auto done = load_all.operator()<PutShare, ShareRecord>(); !done) return done;
  if (auto done = load_all.operator()<PutDefinition, NamedDefinition>(); !done) return done;
  if (auto done = load_all.operator()<PutFleet, Fleet>(); !done) return done;
  if (auto done = load_all.operator()<PutMachine, Machine>(); !done) return done;
  if (auto done = load_all.operator()<PutDocument, Document>(); !done) return done;
  if (auto done = load_all.operator()<PutAccount, Account>(); !done) return done;
  if (auto done = load_all.operator()<PutStream, Stream>(); !done) return done;
  if (auto done = load_all.operator()<PutMessageBlock, MessageBlock>(); !done) return done;
  if (auto done = load_all.operator()<PutOpenMessage, OpenMessage>(); !done) return done;
  return load_all.operator()<PutSentBefore, SentBefore>();
}

Result<void> MemoryStore::commit(const Batch& batch) {
  for (const Mutation& mutation : batch.mutations) std::visit(Writer{*this}, mutation);
  return {};
}

Result<DefinitionId> MemoryStore::add_definition(std::string_view text) {
  const DefinitionId id{definitions_.size() + 1};
  definitions_[id] = text;
  return id;
}

Result<ManifestId> MemoryStore::begin_manifest() {
  return ManifestId{++last_manifest_};
}

Result<void> MemoryStore::add_chunks(ManifestId manifest, const std::vector<ManifestChunk>& chunks) {
  for (const ManifestChunk& chunk : chunks) chunks_[{manifest, chunk.first}] = chunk;
  return {};
}

Result<void> MemoryStore::end_manifest(ManifestId manifest, const ManifestInfo& info, Lasting /*never*/) {
  manifests_[manifest] = info;
  return {};
}

void MemoryStore::drop_manifest(ManifestId manifest) {
  manifests_.erase(manifest);
  std::erase_if(chunks_, [&](const auto& it) { return it.first.first == manifest; });
}

Result<std::vector<Job>> MemoryStore::jobs() {
  return rows_.all<Job>();
}

Result<Job> MemoryStore::job(JobId id) {
  auto known = jobs();
  if (!known) return pass(known);
  for (Job& job : *known) {
    if (job.id == id) return std::move(job);
  }
  return fail(ErrorCode::not_found, concat("job ", id.value, " not found"));
}

Result<std::vector<Worker>> MemoryStore::workers() {
  return rows_.all<Worker>();
}

Result<std::string> MemoryStore::worker_name(WorkerId id) {
  std::string name;
  const auto take_name = [&](const auto& record) -> Result<bool> {
    name = record.name;
    return false;
  };
  const std::string at = row_key(id.value);
  if (auto done = rows_.each<FormerWorker>(at, at, take_name); !done) return pass(done);
  if (auto done = rows_.each<Worker>(at, at, take_name); !done) return pass(done);
  return name;
}

Result<std::vector<Queue>> MemoryStore::queues() {
  return rows_.all<Queue>();
}

Result<std::vector<ShareRecord>> MemoryStore::shares() {
  return rows_.all<ShareRecord>();
}

Result<std::vector<NamedDefinition>> MemoryStore::named_definitions() {
  return rows_.all<NamedDefinition>();
}

Result<std::vector<Fleet>> MemoryStore::fleets() {
  return rows_.all<Fleet>();
}

Result<std::vector<Machine>> MemoryStore::machines() {
  auto out = rows_.all<Machine>();
  if (out) std::ranges::stable_sort(*out, {}, [](const Machine& it) { return std::tuple(it.fleet, it.requested_ms); });
  return out;
}

Result<std::vector<Document>> MemoryStore::documents(const std::string& kind) {
  auto out = rows_.all<Document>();
  if (out) std::erase_if(*out, [&](const Document& it) { return it.kind != kind; });
  return out;
}

Result<std::optional<Document>> MemoryStore::document(const std::string& kind, const std::string& name) {
  auto known = documents(kind);
  if (!known) return pass(known);
  const auto found = std::ranges::find(*known, name, &Document::name);
  if (found == known->end()) return std::nullopt;
  return std::move(*found);
}

Result<std::vector<Account>> MemoryStore::accounts() {
  return rows_.all<Account>();
}

Result<std::vector<Stream>> MemoryStore::streams() {
  auto out = rows_.all<Stream>();
  if (out) std::ranges::sort(*out, {}, &Stream::name);
  return out;
}

Result<std::optional<Stream>> MemoryStore::stream(const std::string& name) {
  auto known = streams();
  if (!known) return pass(known);
  const auto found = std::ranges::find(*known, name, &Stream::name);
  if (found == known->end()) return std::nullopt;
  return std::move(*found);
}

Result<std::optional<std::string>> MemoryStore::message(MessageNumber message) {
  const auto found = contents_.find(message);
  if (found == contents_.end()) return std::nullopt;
  return found->second;
}

Result<void> MemoryStore::each_item_message(JobId job, ItemSpan items,
                                            const std::function<bool(ItemIndex item, std::string content)>& take) {
  auto open = rows_.all<OpenMessage>();
  if (!open) return pass(open);
  std::ranges::sort(*open, {}, &OpenMessage::job_item);
  for (const OpenMessage& it : *open) {
    if (it.job != job || it.job_item < items.first || it.job_item > items.last) continue;
    const auto content = contents_.find(it.message);
    if (content != contents_.end() && !take(it.job_item, content->second)) return {};
  }
  return {};
}

Result<std::optional<DeadLetter>> MemoryStore::dead_letter(MessageNumber message) {
  std::optional<DeadLetter> out;
  const std::string at = row_key(message.value);
  auto read = rows_.each<DeadLetter>(at, at, [&](const DeadLetter& it) -> Result<bool> {
    out = it;
    return false;
  });
  if (!read) return pass(read);
  return out;
}

Result<void> MemoryStore::each_event(EventId after, const std::function<bool(const Event&)>& take) {
  return rows_.each<Event>({}, row_key(after.value + 1),
                           [&](const Event& event) -> Result<bool> { return take(event); });
}

Result<EventId> MemoryStore::newest_event() {
  EventId newest;
  auto read = each_event(EventId{}, [&](const Event& event) {
    newest = event.id;
    return true;
  });
  if (!read) return pass(read);
  return newest;
}

Result<std::string> MemoryStore::definition(DefinitionId id) {
  const auto it = definitions_.find(id);
  if (it == definitions_.end()) return fail(ErrorCode::damaged, concat("definition ", id.value, " is missing"));
  return it->second;
}

Result<ManifestInfo> MemoryStore::manifest(ManifestId id) {
  const auto it = manifests_.find(id);
  if (it == manifests_.end()) return fail(ErrorCode::damaged, concat("manifest ", id.value, " is missing"));
  return it->second;
}

Result<ManifestChunk> MemoryStore::chunk(ManifestId manifest, ItemIndex item) {
  auto it = chunks_.upper_bound({manifest, item});
  if (it != chunks_.begin()) {
    --it;
    if (it->first.first == manifest && item.value < it->second.first.value + it->second.count) return it->second;
  }
  return fail(ErrorCode::damaged, concat("item ", item.value, " is not in the manifest"));
}

Result<std::vector<EndedAt>> MemoryStore::jobs_ended_by(std::int64_t ended_by_ms, EndedAt after, std::uint64_t limit) {
  auto all = jobs();
  if (!all) return pass(all);
  std::vector<EndedAt> out;
  for (const Job& it : *all) {
    const EndedAt at{it.ended_ms, it.id};
    if (it.ended_ms > 0 && it.ended_ms <= ended_by_ms && at > after) out.push_back(at);
  }
  std::ranges::sort(out);
  if (out.size() > limit) out.resize(limit);
  return out;
}

Result<bool> MemoryStore::has_job_created_by(std::int64_t created_by_ms) {
  auto all = jobs();
  if (!all) return pass(all);
  return std::ranges::any_of(*all, [&](const Job& it) { return it.created_ms <= created_by_ms; });
}

Result<std::vector<Attempt>> MemoryStore::settled_by(JobId job, AttemptOrder order, std::uint64_t skip,
                                                     std::uint64_t limit) {
  std::vector<Attempt> out;
  auto read = each_attempt(job, ItemIndex{0}, [&](const Attempt& attempt) {
    if (attempt.settled) out.push_back(attempt);
    return true;
  });
  if (!read) return pass(read);
  const auto size = [&](const Attempt& it) {
    return order == AttemptOrder::longest   ? it.wall_us
           : order == AttemptOrder::largest ? it.peak_memory_kib
                                            : it.gpu_busy_us;
  };
  std::ranges::stable_sort(out, [&](const Attempt& a, const Attempt& b) { return size(a) > size(b); });
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(skip, out.size())));
  if (out.size() > limit) out.resize(limit);
  return out;
}

Result<std::vector<FailedAlike>> MemoryStore::failures(JobId job) {
  std::map<std::tuple<Ending, std::optional<std::int32_t>, std::optional<std::int32_t>>, FailedAlike> groups;
  auto read = each_attempt(job, ItemIndex{0}, [&](const Attempt& it) {
    if (!it.settled || it.state != AttemptState::failed) return true;
    FailedAlike& group = groups[{it.ending, it.exit_code, it.signal}];
    if (group.items++ == 0) {
      group = {it.ending, it.exit_code, it.signal, 1, it.item, it.reason, it.log.last_line};
    }
    return true;
  });
  if (!read) return pass(read);
  std::vector<FailedAlike> out;
  out.reserve(groups.size());
  for (auto& [key, group] : groups) out.push_back(std::move(group));
  std::ranges::stable_sort(out, [](const FailedAlike& a, const FailedAlike& b) { return a.items > b.items; });
  return out;
}

Result<void> MemoryStore::each_block(JobId job, ItemSpan items, const std::function<void(const BlockRecord&)>& take) {
  const std::uint64_t last = ItemBlocks::block_of(items.last);
  return rows_.each<BlockRecord>(row_key(job.value), row_key(job.value, ItemBlocks::block_of(items.first)),
                                 [&](const BlockRecord& block) -> Result<bool> {
                                   if (block.block > last) return false;
                                   take(block);
                                   return true;
                                 });
}

Result<std::optional<Grant>> MemoryStore::grant(GrantId id) {
  std::optional<Grant> out;
  auto read = rows_.each<Grant>({}, row_key(id.value), [&](const Grant& it) -> Result<bool> {
    if (it.id == id) out = it;
    return false;
  });
  if (!read) return pass(read);
  return out;
}

Result<void> MemoryStore::each_open_item(JobId job, ItemSpan items, const std::function<void(const OpenItem&)>& take) {
  return rows_.each<OpenItem>(row_key(job.value), row_key(job.value, items.first.value),
                              [&](const OpenItem& item) -> Result<bool> {
                                if (item.item > items.last) return false;
                                take(item);
                                return true;
                              });
}

Result<void> MemoryStore::each_attempt(JobId job, ItemIndex from, const std::function<bool(const Attempt&)>& take) {
  return rows_.each<Attempt>(row_key(job.value), row_key(job.value, from.value),
                             [&](const Attempt& attempt) -> Result<bool> { return take(attempt); });
}

}  // namespace drover
