#include "worker/item_list.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/random.h"
#include "core/jobs/item_blocks.h"

namespace drover {
namespace {

/// A job's blocks, open items and attempts. Counts the attempts that were read.
class FakeReader : public StoreReader {
 public:
  explicit FakeReader(std::uint64_t total) : blocks_(total) {
    job_.id = JobId{1};
    job_.total = total;
  }

  Job& job() { return job_; }
  std::uint64_t attempts_read() const { return attempts_read_; }
  std::uint64_t blocks_read() const { return blocks_read_; }

  void end(std::uint64_t item, AttemptState state, std::uint32_t attempts = 1) {
    const ItemMark mark = state == AttemptState::succeeded ? ItemMark::succeeded : ItemMark::ended;
    blocks_.set(ItemIndex{item}, mark);
    job_.succeeded += state == AttemptState::succeeded ? 1 : 0;
    job_.failed += state == AttemptState::failed ? 1 : 0;
    job_.cancelled += state == AttemptState::cancelled ? 1 : 0;
    for (std::uint32_t i = 1; i <= attempts; ++i) add_attempt(item, i, i == attempts ? state : AttemptState::failed);
  }
  void open(std::uint64_t item, std::uint32_t attempts, bool waiting) {
    blocks_.set(ItemIndex{item}, ItemMark::open);
    OpenItem& open = open_items_.emplace_back();
    open.job = job_.id;
    open.item = ItemIndex{item};
    open.attempts = attempts;
    if (!waiting) open.grant = GrantId{1};
    for (std::uint32_t i = 1; i <= attempts; ++i) add_attempt(item, i, AttemptState::failed);
  }

  Result<void> each_block(JobId, ItemSpan items, const std::function<void(const BlockRecord&)>& take) override {
    const std::uint64_t end = std::min(blocks_.block_count(), ItemBlocks::block_of(items.last) + 1);
    for (std::uint64_t i = ItemBlocks::block_of(items.first); i < end; ++i) {
      ++blocks_read_;
      BlockRecord block;
      block.job = job_.id;
      block.block = i;
      block.marks.value = blocks_.encode(i);
      take(block);
    }
    return {};
  }
  Result<std::optional<Grant>> grant(GrantId /*id*/) override { return none(); }
  Result<void> each_open_item(JobId, ItemSpan items, const std::function<void(const OpenItem&)>& take) override {
    for (const OpenItem& it : open_items_) {
      if (it.item >= items.first && it.item <= items.last) take(it);
    }
    return {};
  }
  Result<void> each_attempt(JobId, ItemIndex from, const std::function<bool(const Attempt&)>& take) override {
    for (auto it = attempts_.lower_bound({from.value, 0}); it != attempts_.end(); ++it) {
      ++attempts_read_;
      if (!take(it->second)) break;
    }
    return {};
  }

  Result<std::vector<Job>> jobs() override { return none(); }
  Result<std::vector<EndedAt>> jobs_ended_by(std::int64_t /*ended_by_ms*/, EndedAt /*after*/,
                                             std::uint64_t /*limit*/) override {
    return std::vector<EndedAt>();
  }
  Result<bool> has_job_created_by(std::int64_t /*created_by_ms*/) override { return false; }
  Result<Job> job(JobId) override { return none(); }
  Result<std::vector<Worker>> workers() override { return none(); }
  Result<std::string> worker_name(WorkerId) override { return none(); }
  Result<std::vector<Queue>> queues() override { return none(); }
  Result<std::vector<ShareRecord>> shares() override { return none(); }
  Result<std::vector<NamedDefinition>> named_definitions() override { return none(); }
  Result<std::vector<Fleet>> fleets() override { return none(); }
  Result<std::vector<Machine>> machines() override { return none(); }
  Result<std::vector<Document>> documents(const std::string& /*kind*/) override { return none(); }
  Result<std::optional<Document>> document(const std::string& /*kind*/, const std::string& /*name*/) override {
    return none();
  }
  Result<std::vector<Account>> accounts() override { return none(); }
  Result<std::vector<Stream>> streams() override { return none(); }
  Result<std::optional<Stream>> stream(const std::string& /*name*/) override { return none(); }
  Result<std::optional<std::string>> message(MessageNumber /*number*/) override { return none(); }
  Result<void> each_item_message(JobId /*job*/, ItemSpan /*items*/,
                                 const std::function<bool(ItemIndex, std::string)>& /*take*/) override {
    return none();
  }
  Result<std::optional<DeadLetter>> dead_letter(MessageNumber /*number*/) override { return none(); }
  Result<void> each_event(EventId, const std::function<bool(const Event&)>&) override { return none(); }
  Result<EventId> newest_event() override { return none(); }
  Result<std::string> definition(DefinitionId) override { return none(); }
  Result<ManifestInfo> manifest(ManifestId) override { return none(); }
  Result<ManifestChunk> chunk(ManifestId, ItemIndex) override { return none(); }
  Result<std::vector<Attempt>> settled_by(JobId, AttemptOrder, std::uint64_t, std::uint64_t) override { return none(); }
  Result<std::vector<FailedAlike>> failures(JobId) override { return none(); }

 private:
  static std::unexpected<Error> none() { return fail(ErrorCode::not_found, "this reader knows one job's items only"); }
  void add_attempt(std::uint64_t item, std::uint32_t number, AttemptState state) {
    Attempt attempt;
    attempt.job = job_.id;
    attempt.item = ItemIndex{item};
    attempt.attempt = AttemptNumber{number};
    attempt.state = state;
    attempts_[{item, number}] = attempt;
  }

  Job job_;
  ItemBlocks blocks_;
  std::vector<OpenItem> open_items_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, Attempt> attempts_;
  std::uint64_t attempts_read_ = 0;
  std::uint64_t blocks_read_ = 0;
};

struct Row {
  std::uint64_t item;
  ItemState state;
  std::uint64_t attempts;
  bool operator==(const Row&) const = default;
};

std::vector<Row> list(FakeReader& reader, const std::set<ItemIndex>& running, std::optional<ItemState> only,
                      std::uint64_t from = 0, std::size_t most = 1'000'000) {
  std::vector<Row> rows;
  const auto done = list_items(reader, reader.job(), running, {.among = {ItemIndex{from}}, .only = only},
                               [&](const ListedItem& item) {
                                 rows.push_back({item.item.value, item.state, item.attempts});
                                 return rows.size() < most;
                               });
  EXPECT_TRUE(done) << done.error().message;
  return rows;
}

constexpr ItemState kStates[] = {ItemState::pending,   ItemState::waiting, ItemState::running,
                                 ItemState::succeeded, ItemState::failed,  ItemState::cancelled};

TEST(ItemList, AStateThatFewItemsHaveIsFoundWithoutReadingTheOthers) {
  FakeReader reader(50'000);
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    if (i == 30'000) {
      reader.end(i, AttemptState::failed, 2);
    } else if (i != 40'000) {
      reader.end(i, AttemptState::succeeded);
    }
  }
  EXPECT_EQ(list(reader, {}, ItemState::failed), (std::vector<Row>{{30'000, ItemState::failed, 2}}));
  EXPECT_EQ(list(reader, {}, ItemState::pending), (std::vector<Row>{{40'000, ItemState::pending, 0}}));
  for (const ItemState state : {ItemState::waiting, ItemState::running, ItemState::cancelled}) {
    EXPECT_TRUE(list(reader, {}, state).empty());
  }
  EXPECT_LT(reader.attempts_read(), 100);
}

TEST(ItemList, OneItemAndAPageAreReadWithoutTheRestOfTheJob) {
  FakeReader reader(1'000'000);
  reader.end(700'000, AttemptState::failed, 3);
  const auto one = look_up_item(reader, reader.job(), {}, ItemIndex{700'000});
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->state, ItemState::failed);
  EXPECT_EQ(one->attempts, 3);
  std::uint64_t listed = 0;
  const ItemSpan page{ItemIndex{700'000}, ItemIndex{700'099}};
  ASSERT_TRUE(list_items(reader, reader.job(), {}, {.among = page}, [&](const ListedItem&) { return ++listed > 0; }));
  EXPECT_EQ(listed, 100);
  EXPECT_EQ(reader.blocks_read(), 2);
}

TEST(ItemList, TheItemsOfAStateAreThoseOfTheWholeList) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    FakeReader reader(9'000);
    std::set<ItemIndex> running;
    for (std::uint64_t i = 0; i < 9'000; i += 1 + random.below(random.one_in(10) ? 500 : 3)) {
      switch (random.below(6)) {
        case 0: reader.end(i, AttemptState::failed, 1 + static_cast<std::uint32_t>(random.below(3))); break;
        case 1: reader.end(i, AttemptState::cancelled); break;
        case 2: reader.open(i, 1, true); break;
        case 3:
          reader.open(i, static_cast<std::uint32_t>(random.below(2)), false);
          running.insert(ItemIndex{i});
          break;
        default: reader.end(i, AttemptState::succeeded); break;
      }
    }
    if (random.one_in(3)) {
      reader.job().state = JobState::cancelled;
      running.clear();
    }
    const std::vector<Row> all = list(reader, running, std::nullopt);
    ASSERT_EQ(all.size(), 9'000);
    for (const ItemState state : kStates) {
      const std::uint64_t from = random.below(9'000);
      std::vector<Row> wanted;
      for (const Row& row : all) {
        if (row.state == state && row.item >= from) wanted.push_back(row);
      }
      ASSERT_EQ(list(reader, running, state, from), wanted) << "seed " << seed << ", " << to_string(state);
      wanted.resize(std::min<std::size_t>(wanted.size(), 3));
      ASSERT_EQ(list(reader, running, state, from, 3), wanted) << "seed " << seed << ", " << to_string(state);
    }
    const std::uint64_t first = random.below(9'000);
    const std::uint64_t last = std::min<std::uint64_t>(8'999, first + random.below(200));
    std::vector<Row> page;
    const auto done = list_items(reader, reader.job(), running, {.among = {ItemIndex{first}, ItemIndex{last}}},
                                 [&](const ListedItem& item) {
                                   page.push_back({item.item.value, item.state, item.attempts});
                                   return true;
                                 });
    ASSERT_TRUE(done);
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(first);
    ASSERT_EQ(page, std::vector<Row>(at, at + static_cast<std::ptrdiff_t>(last - first + 1))) << "seed " << seed;
  }
}

}  // namespace
}  // namespace drover
