// Writes what the core would have written, but in large batches and without running it: blocks, attempts, counts, and
// the grants of a worker that was at work when its process ended.
#include <fmt/format.h>

#include "base/random.h"
#include "core/jobs/item_blocks.h"
#include "core/sanity.h"
#include "manifest_bench.h"
#include "measure.h"
#include "store/sqlite_store.h"

namespace drover {
namespace {

constexpr std::uint64_t kBlocksPerCommit = 16;
constexpr std::uint64_t kGrants = 4;
constexpr std::uint64_t kEvents = 1000;  // more than the run that was there has written
constexpr std::uint64_t kGrantItems = 64;
constexpr WorkerId kWorker{1};

class HalfFinisher {
 public:
  HalfFinisher(Store& store, Job job) : store_(store), job_(std::move(job)), blocks_(job_.total), random_(job_.total) {}

  std::uint64_t finish_half() {
    for (std::uint64_t i = 0; i < kGrants; ++i) add_grant(i);
    const std::uint64_t count = blocks_.block_count();
    for (std::uint64_t block = 0; block < count; ++block) {
      fill(block);
      if ((block + 1) % kBlocksPerCommit == 0) commit();
      if (block % (count / 10 + 1) == count / 10) fmt::print(stderr, "  {} of {} blocks\n", block, count);
    }
    batch_.mutations.emplace_back(PutJob{job_});
    batch_.mutations.emplace_back(PutWorker{{kWorker, "local", 1, 0, job_.created_ms}});
    batch_.mutations.emplace_back(
        PutCounters{{job_.created_ms, job_.id.value + 1, kGrants + 1, kWorker.value + 1, kEvents + 1}});
    commit();
    return job_.succeeded;
  }

 private:
  // Spread over the job, each within one block.
  void add_grant(std::uint64_t i) {
    const ItemIndex first{i * job_.total / kGrants / ItemBlocks::kBlockItems * ItemBlocks::kBlockItems +
                          i * kGrantItems};
    const std::uint64_t count = std::min(kGrantItems, job_.total - first.value);
    for (std::uint64_t offset = 0; offset < count; ++offset) {
      blocks_.set(ItemIndex{first.value + offset}, ItemMark::open);
    }
    batch_.mutations.emplace_back(PutGrant{{GrantId{i + 1}, job_.id, kWorker, PollNumber{i + 1}, first, count}});
  }

  void fill(std::uint64_t block) {
    const std::uint64_t first = block * ItemBlocks::kBlockItems;
    const std::uint64_t end = std::min(first + ItemBlocks::kBlockItems, job_.total);
    for (ItemIndex item{first}; item.value < end; ++item.value) {
      if (random_.one_in(2) || blocks_.get(item) != ItemMark::pending) continue;
      blocks_.set(item, ItemMark::succeeded);
      batch_.mutations.emplace_back(AddAttempt{attempt_at(item)});
      ++job_.succeeded;
    }
    batch_.mutations.emplace_back(PutBlock{{job_.id, block, Bytes{blocks_.encode(block)}}});
  }

  Attempt attempt_at(ItemIndex item) {
    Attempt row;
    row.job = job_.id;
    row.item = item;
    row.attempt = AttemptNumber{1};
    row.exit_code = 0;
    row.worker = kWorker;
    row.started_ms = job_.created_ms + static_cast<std::int64_t>(item.value / 4);
    row.ended_ms = row.started_ms + 1;
    row.wall_us = 600 + static_cast<std::int64_t>(random_.below(600));
    row.user_us = 200 + static_cast<std::int64_t>(random_.below(200));
    row.system_us = 200 + static_cast<std::int64_t>(random_.below(200));
    row.peak_memory_kib = 1200;
    row.settled = true;
    return row;
  }

  void commit() {
    must(store_.commit(batch_));
    batch_.mutations.clear();
  }

  Store& store_;
  Job job_;
  ItemBlocks blocks_;
  Random random_;
  Batch batch_;
};

}  // namespace

void finish_half(const std::string& database) {
  auto store = must(open_sqlite_store(database));
  Job job = must(must(open_sqlite_reader(database))->jobs()).back();
  const std::uint64_t succeeded = HalfFinisher(*store, std::move(job)).finish_half();

  Durable durable;
  must(store->load([&](const Mutation& put) { return durable.restore(put); }));
  const std::int64_t now_ms = durable.counters.now_ms;
  if (const auto fault = find_fault(Core(std::move(durable), now_ms)))
    give_up("the state made here is wrong: " + *fault);
  fmt::print("{{\"succeeded\":{}}}\n", succeeded);
}

}  // namespace drover
