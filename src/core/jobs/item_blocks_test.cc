#include "core/jobs/item_blocks.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace drover {
namespace {

TEST(ItemBlocks, AgreeWithAPlainListWhateverIsSet) {
  for (const std::uint64_t total : {1ULL, 2ULL, 3ULL, 4ULL, 5ULL, 31ULL, 4095ULL, 4096ULL, 4097ULL, 10'000ULL}) {
    Random random(total);
    ItemBlocks blocks(total);
    std::vector<ItemMark> plain(total, ItemMark::pending);
    for (int step = 0; step < 3000; ++step) {
      // Runs of one mark make blocks of one value come and go.
      const auto mark = static_cast<ItemMark>(random.below(4));
      const std::uint64_t first = random.below(total);
      const std::uint64_t count = random.one_in(50) ? total : 1 + random.below(5);
      for (std::uint64_t i = first; i < std::min(total, first + count); ++i) {
        blocks.set(ItemIndex{i}, mark);
        plain[i] = mark;
      }
      const std::uint64_t from = random.below(total);
      const auto at = std::find(plain.begin() + static_cast<std::ptrdiff_t>(from), plain.end(), mark);
      const auto found = blocks.find(mark, ItemIndex{from});
      ASSERT_EQ(found.has_value(), at != plain.end());
      if (found) {
        ASSERT_EQ(found->value, static_cast<std::uint64_t>(at - plain.begin()));
      }
      const auto other = std::find_if(plain.begin() + static_cast<std::ptrdiff_t>(from), plain.end(),
                                      [&](ItemMark it) { return it != mark; });
      const auto run = static_cast<std::uint64_t>(other - plain.begin()) - from;
      const std::uint64_t most = random.one_in(2) ? random.below(total + 5) : std::numeric_limits<std::uint64_t>::max();
      ASSERT_EQ(blocks.run_length(mark, ItemIndex{from}, most), std::min(run, most));
    }
    for (std::uint64_t i = 0; i < total; ++i) ASSERT_EQ(blocks.get(ItemIndex{i}), plain[i]);
    for (int mark = 0; mark < 4; ++mark) {
      ASSERT_EQ(blocks.count(static_cast<ItemMark>(mark)),
                static_cast<std::uint64_t>(std::count(plain.begin(), plain.end(), static_cast<ItemMark>(mark))));
    }
  }
}

TEST(ItemBlocks, ComeBackFromTheirEncodedForm) {
  Random random(7);
  for (const std::uint64_t total : {1ULL, 2ULL, 4ULL, 6ULL, 4096ULL, 4098ULL, 9001ULL}) {
    ItemBlocks blocks(total);
    for (std::uint64_t i = 0; i < total; ++i) {
      if (random.one_in(3)) blocks.set(ItemIndex{i}, static_cast<ItemMark>(random.below(4)));
    }
    ItemBlocks copy(total);
    for (std::uint64_t block = 0; block < blocks.block_count(); ++block) {
      ASSERT_TRUE(copy.decode(block, blocks.encode(block)));
    }
    Hasher one;
    Hasher other;
    blocks.hash(one);
    copy.hash(other);
    EXPECT_EQ(one.value(), other.value());
    for (int mark = 0; mark < 4; ++mark) {
      EXPECT_EQ(blocks.count(static_cast<ItemMark>(mark)), copy.count(static_cast<ItemMark>(mark)));
    }
  }
}

TEST(ItemBlocks, ABlockOfOneValueIsOneByte) {
  ItemBlocks blocks(8192);
  for (std::uint64_t i = 0; i < 4096; ++i) blocks.set(ItemIndex{i}, ItemMark::succeeded);
  EXPECT_EQ(blocks.encode(0).size(), 1U);
  EXPECT_EQ(blocks.encode(1).size(), 1U);
  blocks.set(ItemIndex{5}, ItemMark::open);
  EXPECT_EQ(blocks.encode(0).size(), 1024U);
}

TEST(ItemBlocks, RefuseBytesThatCannotBeTheirs) {
  ItemBlocks blocks(5000);
  EXPECT_FALSE(blocks.decode(9, std::string(1, '\0')));
  EXPECT_FALSE(blocks.decode(0, std::string(1, '\7')));
  EXPECT_FALSE(blocks.decode(0, std::string(100, '\0')));
  EXPECT_FALSE(blocks.decode(1, std::string(1024, '\0')));
  EXPECT_FALSE(blocks.decode(0, ""));
}

TEST(ItemBlocks, CountsAndFindsWhatALookAtEveryItemWouldFind) {
  Random random(11);
  for (const std::uint64_t total : {1U, 31U, 4096U, 9000U}) {
    ASSERT_GT(total, 0U);
    ItemBlocks mine(total);
    ItemBlocks theirs(total);
    for (std::uint64_t i = 0; i < total; ++i) {
      if (random.one_in(40)) mine.set(ItemIndex{i}, ItemMark::open);
      if (!random.one_in(40)) theirs.set(ItemIndex{i}, ItemMark::succeeded);
    }
    const std::vector<ItemBlocks::Marked> both = {{&mine, ItemMark::pending}, {&theirs, ItemMark::succeeded}};
    const auto is_hit = [&](std::uint64_t i) {
      return mine.get(ItemIndex{i}) == ItemMark::pending && theirs.get(ItemIndex{i}) == ItemMark::succeeded;
    };
    for (int round = 0; round < 200; ++round) {
      const std::uint64_t from = random.below(total);
      const std::uint64_t to = from + random.below(total - from + 1);
      std::uint64_t counted = 0;
      for (std::uint64_t i = 0; i < to; ++i) counted += mine.get(ItemIndex{i}) == ItemMark::pending ? 1 : 0;
      ASSERT_EQ(mine.count_before(ItemMark::pending, ItemIndex{to}), counted) << to;
      std::uint64_t first = from;
      while (first < to && !is_hit(first)) ++first;
      const auto found = ItemBlocks::find_in_all(both, ItemIndex{from}, ItemIndex{to});
      ASSERT_EQ(found, first < to ? std::optional(ItemIndex{first}) : std::nullopt) << from << " " << to;
      const std::uint64_t most = random.below(200);
      std::uint64_t run = 0;
      while (run < most && from + run < total && is_hit(from + run)) ++run;
      ASSERT_EQ(ItemBlocks::run_in_all(both, ItemIndex{from}, most), run) << from;
    }
  }
}

TEST(ItemBlocks, GrowByPendingItemsWhateverTheOthersAre) {
  Random random(7);
  ItemBlocks grown(0);
  std::vector<ItemMark> marks;
  while (marks.size() < 20'000) {
    const std::uint64_t more = random.below(random.one_in(5) ? 6000 : 20);
    marks.resize(marks.size() + more, ItemMark::pending);
    grown.grow(marks.size());
    const auto mark = static_cast<ItemMark>(random.below(4));
    for (std::size_t i = random.one_in(3) ? 0 : marks.size() - more; i < marks.size(); ++i) {
      marks[i] = random.one_in(50) ? ItemMark::pending : mark;
      grown.set(ItemIndex{i}, marks[i]);
    }
    ItemBlocks at_once(marks.size());
    for (std::size_t i = 0; i < marks.size(); ++i) at_once.set(ItemIndex{i}, marks[i]);
    Hasher one;
    Hasher other;
    grown.hash(one);
    at_once.hash(other);
    ASSERT_EQ(one.value(), other.value()) << marks.size();
    for (const ItemMark it : {ItemMark::pending, ItemMark::open, ItemMark::succeeded, ItemMark::ended}) {
      ASSERT_EQ(grown.count(it), at_once.count(it));
      ASSERT_EQ(grown.find(it, ItemIndex{0}), at_once.find(it, ItemIndex{0}));
    }
    ASSERT_EQ(grown.encode(grown.block_count() - 1), at_once.encode(at_once.block_count() - 1));
  }
}

TEST(ItemBlocks, OfOneThatHasGrownTheKnownPartIsRead) {
  Random random(8);
  for (const std::uint64_t known : {1U, 3U, 8U, 9U, 4095U, 4096U, 4097U, 9000U}) {
    for (const std::uint64_t more : {0U, 1U, 2U, 5U, 4096U, 9000U}) {
      ItemBlocks all(known + more);
      for (std::uint64_t i = 0; i < all.total(); ++i) all.set(ItemIndex{i}, static_cast<ItemMark>(random.below(4)));
      ItemBlocks read(known);
      for (std::uint64_t block = 0; block < all.block_count(); ++block) {
        ASSERT_TRUE(read.decode_known_part(block, all.encode(block))) << known << " + " << more;
      }
      for (std::uint64_t i = 0; i < known; ++i) ASSERT_EQ(read.get(ItemIndex{i}), all.get(ItemIndex{i})) << i;
    }
  }
}

}  // namespace
}  // namespace drover
