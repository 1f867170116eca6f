#include "store/memory_store.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/check.h"
#include "base/text.h"
#include "ports/loaded_blocks.h"
#include "wire/cells.h"

namespace drover {
namespace {

void append_number(std::string& out, std::uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift);
}

std::uint64_t take_number(std::string_view& in) {
  std::uint64_t number = 0;
  for (int i = 0; i < 8; ++i) number = number << 8 | static_cast<unsigned char>(in[static_cast<std::size_t>(i)]);
  in.remove_prefix(8);
  return number;
}

// A cell is a tag, then a number or a length with bytes.
std::string encode(const std::vector<Cell>& cells) {
  std::string out;
  for (const Cell& cell : cells) {
    out += static_cast<char>(cell.index());
    if (const auto* number = std::get_if<std::int64_t>(&cell)) append_number(out, static_cast<std::uint64_t>(*number));
    if (const auto* text = std::get_if<std::string>(&cell)) {
      append_number(out, text->size());
      out += *text;
    }
    if (const auto* bytes = std::get_if<Bytes>(&cell)) {
      append_number(out, bytes->value.size());
      out += bytes->value;
    }
  }
  return out;
}

std::vector<Cell> decode(std::string_view in) {
  std::vector<Cell> cells;
  while (!in.empty()) {
    const char tag = in.front();
    in.remove_prefix(1);
    if (tag == 0) {
      cells.emplace_back();
      continue;
    }
    const std::uint64_t number = take_number(in);
    if (tag == 1) {
      cells.emplace_back(static_cast<std::int64_t>(number));
      continue;
    }
    std::string content(in.substr(0, number));
    in.remove_prefix(number);
    if (tag == 2) {
      cells.emplace_back(std::move(content));
    } else {
      cells.emplace_back(Bytes{std::move(content)});
    }
  }
  return cells;
}

template <class... Numbers>
std::string key(Numbers... numbers) {
  std::string out;
  (append_number(out, numbers), ...);
  return out;
}

std::string key_of(const Counters& /*one row*/) {
  return {};
}
std::string key_of(const Job& it) {
  return key(it.id.value);
}
std::string key_of(const BlockRecord& it) {
  return key(it.job.value, it.block);
}
std::string key_of(const OpenItem& it) {
  return key(it.job.value, it.item.value);
}
std::string key_of(const Grant& it) {
  return key(it.id.value);
}
std::string key_of(const Worker& it) {
  return key(it.id.value);
}
std::string key_of(const FormerWorker& it) {
  return key(it.id.value);
}
// Names are not as long as each other: the first is ended by what no name holds.
std::string key_of(const Queue& it) {
  return it.name;
}
std::string key_of(const ShareRecord& it) {
  return it.queue + '\0' + it.share;
}
std::string key_of(const NamedDefinition& it) {
  return it.name + '\0' + key(it.revision);
}
std::string key_of(const Fleet& it) {
  return it.name;
}
std::string key_of(const Document& it) {
  return it.kind + '\0' + it.name;
}
std::string key_of(const Account& it) {
  return it.owner;
}
std::string key_of(const Event& it) {
  return key(it.id.value);
}
std::string key_of(const Stream& it) {
  return key(it.id.value);
}
std::string key_of(const MessageBlock& it) {
  return key(it.first.value);
}
std::string key_of(const OpenMessage& it) {
  return key(it.message.value);
}
std::string key_of(const SentBefore& it) {
  return key(it.stream.value) + it.key;
}
std::string key_of(const DeadLetter& it) {
  return key(it.message.value);
}
std::string key_of(const Attempt& it) {
  return key(it.job.value, it.item.value, std::uint64_t{it.attempt.value});
}

}  // namespace

template <class Record>
MemoryStore::Rows& MemoryStore::rows() {
  std::string name;
  for (const std::string& column : column_names<Record>()) name += column + ",";
  return tables_[name];
}

template <class Record>
void MemoryStore::put(const Record& record) {
  rows<Record>()[key_of(record)] = encode(to_cells(record));
}

template <class Record, class Take>
Result<void> MemoryStore::each(const std::string& prefix, const std::string& from, Take&& take) {
  Rows& all = rows<Record>();
  for (auto it = all.lower_bound(from); it != all.end() && it->first.starts_with(prefix); ++it) {
    const std::vector<Cell> cells = decode(it->second);
    auto record = from_cells<Record>([&](int column) { return cells.at(static_cast<std::size_t>(column)); });
    if (!record) return pass(record);
    auto went_on = take(std::move(*record));
    if (!went_on) return pass(went_on);
    if (!*went_on) break;
  }
  return {};
}

struct MemoryStore::Writer {
  MemoryStore& store;

  void operator()(const PutCounters& it) { store.put(it.counters); }
  void operator()(const PutJob& it) { store.put(it.job); }
  void operator()(const PutBlock& it) { store.put(it.block); }
  void operator()(const PutOpenItem& it) { store.put(it.item); }
  void operator()(const DeleteOpenItem& it) { store.rows<OpenItem>().erase(key(it.job.value, it.item.value)); }
  void operator()(const PutGrant& it) { store.put(it.grant); }
  void operator()(const DeleteGrant& it) { store.rows<Grant>().erase(key(it.grant.value)); }
  void operator()(const PutWorker& it) { store.put(it.worker); }
  void operator()(const AddAttempt& it) { store.put(it.attempt); }
  void operator()(const DeleteJob& it) {
    const std::string prefix = key(it.job.value);
    store.rows<Job>().erase(prefix);
    const auto erase_all = [&](Rows& rows) {
      const auto first = rows.lower_bound(prefix);
      auto end = first;
      while (end != rows.end() && end->first.starts_with(prefix)) ++end;
      rows.erase(first, end);
    };
    erase_all(store.rows<BlockRecord>());
    erase_all(store.rows<OpenItem>());
    erase_all(store.rows<Attempt>());
  }
  void operator()(const PutQueue& it) { store.put(it.queue); }
  void operator()(const DeleteQueue& it) { store.rows<Queue>().erase(it.queue); }
  void operator()(const PutShare& it) { store.put(it.share); }
  void operator()(const DeleteShare& it) { store.rows<ShareRecord>().erase(it.queue + '\0' + it.share); }
  void operator()(const PutDefinition& it) { store.put(it.definition); }
  void operator()(const PutFleet& it) { store.put(it.fleet); }
  void operator()(const DeleteFleet& it) { store.rows<Fleet>().erase(it.fleet); }
  void operator()(const PutDocument& it) { store.put(it.document); }
  void operator()(const DeleteDocument& it) { store.rows<Document>().erase(it.kind + '\0' + it.name); }
  void operator()(const PutAccount& it) { store.put(it.account); }
  void operator()(const AddEvent& it) { store.put(it.event); }
  void operator()(const ForgetWorker& it) {
    store.put(it.worker);
    store.rows<Worker>().erase(key(it.worker.id.value));
  }
  void operator()(const PutStream& it) {
    store.put(it.stream);
    drop_messages(it.stream.id, it.stream.purged_before.value);
  }
  void operator()(const DeleteStream& it) {
    store.rows<Stream>().erase(key(it.stream.value));
    drop_messages(it.stream, ~std::uint64_t{0});
    std::erase_if(store.rows<SentBefore>(),
                  [&](const auto& row) { return row.first.starts_with(key(it.stream.value)); });
  }
  void operator()(const PutMessageBlock& it) { store.put(it.block); }
  void operator()(const DeleteMessageBlock& it) { drop_block(it.first); }
  void operator()(const PutOpenMessage& it) { store.put(it.message); }
  void operator()(const DeleteOpenMessage& it) { store.rows<OpenMessage>().erase(key(it.message.value)); }
  void operator()(const PutSentBefore& it) { store.put(it.sent); }
  void operator()(const DeleteSentBefore& it) { store.rows<SentBefore>().erase(key(it.stream.value) + it.key); }
  void operator()(const AddMessage& it) { store.contents_[it.message] = *it.content; }
  void operator()(const MoveMessage& it) {
    auto content = store.contents_.extract(it.from);
    if (!content.empty()) store.contents_[it.to.message] = std::move(content.mapped());
    store.put(it.to);
  }
  void drop_messages(StreamId stream, std::uint64_t before) {
    std::vector<MessageNumber> firsts;
    DROVER_CHECK(store
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
    store.rows<MessageBlock>().erase(key(first.value));
    const MessageNumber end{first.value + MessageBlock::kMessages};
    const auto erase_from = [&](auto& rows, const auto& from, const auto& to) {
      rows.erase(rows.lower_bound(from), rows.lower_bound(to));
    };
    erase_from(store.rows<OpenMessage>(), key(first.value), key(end.value));
    erase_from(store.rows<DeadLetter>(), key(first.value), key(end.value));
    erase_from(store.contents_, first, end);
  }
  void operator()(const UnsettleAttempt& it) {
    const auto row = store.rows<Attempt>().find(key(it.job.value, it.item.value, std::uint64_t{it.attempt.value}));
    if (row == store.rows<Attempt>().end()) return;
    const std::vector<Cell> cells = decode(row->second);
    auto attempt = from_cells<Attempt>([&](int column) { return cells.at(static_cast<std::size_t>(column)); });
    attempt->settled = false;
    store.put(*attempt);
  }
};

Result<void> MemoryStore::load(const std::function<Result<void>(const Mutation&)>& take) {
  const auto load_all = [&]<class Put, class Record>() {
    return each<Record>({}, {}, [&](Record record) -> Result<bool> {
      auto done = take(Put{std::move(record)});
      if (!done) return pass(done);
      return true;
    });
  };
  if (auto done = load_all.operator()<PutCounters, Counters>(); !done) return done;
  std::set<JobId> with_blocks;
  auto jobs = each<Job>({}, {}, [&](Job job) -> Result<bool> {
    add_jobs_with_blocks(job, with_blocks);
    auto done = take(PutJob{std::move(job)});
    if (!done) return pass(done);
    return true;
  });
  if (!jobs) return jobs;
  for (const JobId id : with_blocks) {
    auto blocks = each<BlockRecord>(key(id.value), key(id.value), [&](BlockRecord block) -> Result<bool> {
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

template <class Record>
Result<std::vector<Record>> MemoryStore::all() {
  std::vector<Record> records;
  auto done = each<Record>({}, {}, [&](Record record) -> Result<bool> {
    records.push_back(std::move(record));
    return true;
  });
  if (!done) return pass(done);
  return records;
}

Result<std::vector<Job>> MemoryStore::jobs() {
  return all<Job>();
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
  return all<Worker>();
}

Result<std::string> MemoryStore::worker_name(WorkerId id) {
  std::string name;
  const auto take_name = [&](const auto& record) -> Result<bool> {
    name = record.name;
    return false;
  };
  const std::string at = key(id.value);
  if (auto done = each<FormerWorker>(at, at, take_name); !done) return pass(done);
  if (auto done = each<Worker>(at, at, take_name); !done) return pass(done);
  return name;
}

Result<std::vector<Queue>> MemoryStore::queues() {
  return all<Queue>();
}

Result<std::vector<ShareRecord>> MemoryStore::shares() {
  return all<ShareRecord>();
}

Result<std::vector<NamedDefinition>> MemoryStore::named_definitions() {
  return all<NamedDefinition>();
}

Result<std::vector<Fleet>> MemoryStore::fleets() {
  return all<Fleet>();
}

Result<std::vector<Document>> MemoryStore::documents(const std::string& kind) {
  auto out = all<Document>();
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
  return all<Account>();
}

Result<std::vector<Stream>> MemoryStore::streams() {
  auto out = all<Stream>();
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
  auto open = all<OpenMessage>();
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
  const std::string at = key(message.value);
  auto read = each<DeadLetter>(at, at, [&](const DeadLetter& it) -> Result<bool> {
    out = it;
    return false;
  });
  if (!read) return pass(read);
  return out;
}

Result<void> MemoryStore::each_event(EventId after, const std::function<bool(const Event&)>& take) {
  return each<Event>({}, key(after.value + 1), [&](const Event& event) -> Result<bool> { return take(event); });
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
  const auto size = [&](const Attempt& it) { return order == AttemptOrder::longest ? it.wall_us : it.peak_memory_kib; };
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
  return each<BlockRecord>(key(job.value), key(job.value, ItemBlocks::block_of(items.first)),
                           [&](const BlockRecord& block) -> Result<bool> {
                             if (block.block > last) return false;
                             take(block);
                             return true;
                           });
}

Result<std::optional<Grant>> MemoryStore::grant(GrantId id) {
  std::optional<Grant> out;
  auto read = each<Grant>({}, key(id.value), [&](const Grant& it) -> Result<bool> {
    if (it.id == id) out = it;
    return false;
  });
  if (!read) return pass(read);
  return out;
}

Result<void> MemoryStore::each_open_item(JobId job, ItemSpan items, const std::function<void(const OpenItem&)>& take) {
  return each<OpenItem>(key(job.value), key(job.value, items.first.value), [&](const OpenItem& item) -> Result<bool> {
    if (item.item > items.last) return false;
    take(item);
    return true;
  });
}

Result<void> MemoryStore::each_attempt(JobId job, ItemIndex from, const std::function<bool(const Attempt&)>& take) {
  return each<Attempt>(key(job.value), key(job.value, from.value),
                       [&](const Attempt& attempt) -> Result<bool> { return take(attempt); });
}

}  // namespace drover
