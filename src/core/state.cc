#include "core/state.h"

#include "base/text.h"

namespace drover {
namespace {

// How each kind of field enters the hash.
struct FieldHasher {
  Hasher& hasher;

  void one(const std::string& value) { hasher.add(value); }
  void one(const Uuid& value) { hasher.add(value.text()); }
  void one(const ItemIndex& value) { hasher.add(value.value); }
  template <class Tag, class Rep>
  void one(const Id<Tag, Rep>& value) {
    hasher.add(std::uint64_t{value.value});
  }
  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void one(T value) {
    hasher.add(static_cast<std::uint64_t>(value));
  }
  void one(const std::vector<ExitRule>& rules) {
    hasher.add(rules.size());
    for (const ExitRule& rule : rules) {
      hasher.add(rule.on_status_reason);
      hasher.add(rule.on_reason);
      hasher.add(rule.on_exit_code);
      one(rule.action);
    }
  }
  void one(const Labels& labels) {
    hasher.add(labels.size());
    for (const auto& [name, value] : labels) {
      hasher.add(name);
      hasher.add(value);
    }
  }
  void one(const std::vector<Dependency>& after) {
    hasher.add(after.size());
    for (const Dependency& it : after) {
      one(it.job);
      one(it.each);
    }
  }
  void one(const std::shared_ptr<const ReopenChoice>& choice) {
    hasher.add(choice != nullptr);
    if (choice == nullptr) return;
    one(choice->failed);
    hasher.add(choice->items.size());
    for (const ItemIndex item : choice->items) one(item);
    optional(choice->exit_code);
    optional(choice->signal);
    optional(choice->ending);
  }
  template <class T>
  void optional(const std::optional<T>& value) {
    hasher.add(value.has_value());
    if (value) one(*value);
  }
  void one(const std::vector<ShareWeight>& weights) {
    hasher.add(weights.size());
    for (const ShareWeight& it : weights) {
      hasher.add(it.share);
      one(it.weight);
    }
  }
  void one(const std::vector<std::string>& words) {
    hasher.add(words.size());
    for (const std::string& word : words) hasher.add(word);
  }
  template <class T>
  void operator()(const char* /*name*/, const T& value) {
    one(value);
  }
};

template <class Record>
void add_record(Hasher& hasher, const Record& record) {
  Record::fields(record, FieldHasher{hasher});
}

struct Restorer {
  Durable& durable;

  Result<void> operator()(const PutCounters& put) {
    durable.counters = put.counters;
    return {};
  }
  Result<void> operator()(const PutJob& put) {
    if (put.job.total > kMostItems) return broken(concat("job ", put.job.name, " has an impossible size"));
    if (!put.job.ended()) durable.blocks.insert_or_assign(put.job.id, ItemBlocks(put.job.total));
    durable.jobs.insert_or_assign(put.job.id, put.job);
    return {};
  }
  Result<void> operator()(const PutBlock& put) {
    const Job* job = durable.find_job(put.block.job);
    if (job != nullptr && job->state == JobState::succeeded) return {};
    const bool fits =
        job != nullptr &&
        durable.blocks.try_emplace(job->id, job->total).first->second.decode(put.block.block, put.block.marks.value);
    if (!fits) {
      return broken(concat("block ", put.block.block, " of job ", put.block.job.value, " does not match its job"));
    }
    return {};
  }
  Result<void> operator()(const PutOpenItem& put) {
    const Job* job = durable.find_job(put.item.job);
    if (job == nullptr || put.item.item.value >= job->total) {
      return broken(concat("open item ", put.item.item.value, " belongs to no job"));
    }
    durable.open_items.insert_or_assign({put.item.job, put.item.item}, put.item);
    return {};
  }
  Result<void> operator()(const PutGrant& put) {
    const Job* job = durable.find_job(put.grant.job);
    if (job == nullptr || put.grant.first.value + put.grant.count > job->total) {
      return broken(concat("grant ", put.grant.id.value, " is outside its job"));
    }
    durable.grants.insert_or_assign(put.grant.id, put.grant);
    return {};
  }
  Result<void> operator()(const PutWorker& put) {
    durable.workers.insert_or_assign(put.worker.id, put.worker);
    return {};
  }
  Result<void> operator()(const PutQueue& put) {
    durable.queues.insert_or_assign(put.queue.name, put.queue);
    return {};
  }
  Result<void> operator()(const PutShare& put) {
    durable.shares.insert_or_assign({put.share.queue, put.share.share}, put.share);
    return {};
  }
  Result<void> operator()(const PutDefinition& put) {
    durable.definitions.insert_or_assign({put.definition.name, put.definition.revision}, put.definition);
    return {};
  }
  Result<void> operator()(const PutFleet& put) {
    durable.fleets.insert_or_assign(put.fleet.name, put.fleet);
    return {};
  }
  Result<void> operator()(const PutAccount& put) {
    durable.accounts.insert_or_assign(put.account.owner, put.account);
    return {};
  }
  template <class Other>
  Result<void> operator()(const Other& /*not a put*/) {
    return broken("the store loaded an unexpected record");
  }

  static Result<void> broken(const std::string& what) {
    return fail(ErrorCode::damaged, concat("the stored state contradicts itself: ", what));
  }
};

}  // namespace

Result<void> Durable::restore(const Mutation& mutation) {
  return std::visit(Restorer{*this}, mutation);
}

const Job* Durable::find_job(JobId id) const {
  const auto it = jobs.find(id);
  return it == jobs.end() ? nullptr : &it->second;
}

const OpenItem* Durable::find_open(JobId job, ItemIndex item) const {
  const auto it = open_items.find({job, item});
  return it == open_items.end() ? nullptr : &it->second;
}

const ItemBlocks* Durable::find_blocks(JobId job) const {
  const auto it = blocks.find(job);
  return it == blocks.end() ? nullptr : &it->second;
}

bool Durable::has_succeeded(JobId id, ItemIndex item) const {
  const Job* job = find_job(id);
  if (job == nullptr) return false;
  const ItemBlocks* known = find_blocks(id);
  return job->state == JobState::succeeded || (known != nullptr && known->get(item) == ItemMark::succeeded);
}

const Queue* Durable::find_queue(const std::string& name) const {
  static const Queue always{.name = std::string(kDefaultQueue)};
  const auto it = queues.find(name);
  if (it != queues.end()) return &it->second;
  return name == kDefaultQueue ? &always : nullptr;
}

bool may_run(const Durable& durable, const Worker& worker, const Job& job) {
  return supply_of(worker).suits(demand_of(job, durable.find_queue(job.place.queue)));
}

std::uint64_t hash(const Durable& durable) {
  Hasher hasher;
  add_record(hasher, durable.counters);
  for (const auto& [id, job] : durable.jobs) add_record(hasher, job);
  for (const auto& [id, blocks] : durable.blocks) {
    if (!durable.jobs.at(id).ended()) blocks.hash(hasher);
  }
  for (const auto& [key, item] : durable.open_items) add_record(hasher, item);
  for (const auto& [id, grant] : durable.grants) add_record(hasher, grant);
  for (const auto& [id, worker] : durable.workers) add_record(hasher, worker);
  for (const auto& [name, queue] : durable.queues) add_record(hasher, queue);
  for (const auto& [key, share] : durable.shares) add_record(hasher, share);
  for (const auto& [key, definition] : durable.definitions) add_record(hasher, definition);
  for (const auto& [name, fleet] : durable.fleets) add_record(hasher, fleet);
  for (const auto& [owner, account] : durable.accounts) add_record(hasher, account);
  return hasher.value();
}

}  // namespace drover
