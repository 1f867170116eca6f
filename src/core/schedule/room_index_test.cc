#include "core/schedule/room_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"

namespace drover {
namespace {

constexpr auto kAny = [](const RoomIndex::Entry&) { return true; };

TEST(RoomIndex, FindsWhatASearchOfAllWouldFind) {
  Random random(3);
  RoomIndex index;
  std::map<std::pair<std::uint64_t, std::uint64_t>, RoomIndex::Entry> all;  // by free CPUs, then by age
  for (std::uint64_t poll = 1; poll < 3000; ++poll) {
    const RoomIndex::Entry entry{
        {random.below(9) * 1000, random.below(9), {random.below(3), 0, random.below(2)}}, poll, 0};
    index.insert(entry);
    all[{entry.room.milli_cpus, poll}] = entry;
    if (random.one_in(3)) {
      auto gone = all.begin();
      std::advance(gone, random.below(all.size()));
      EXPECT_TRUE(index.erase(gone->second.room, gone->second.poll));
      EXPECT_FALSE(index.erase(gone->second.room, gone->second.poll)) << "it is there once";
      all.erase(gone);
    }
    const Resources ask{random.below(9) * 1000, random.below(9), {random.below(3), 0, random.below(2)}};
    const auto is_even = [](const RoomIndex::Entry& it) { return it.poll % 2 == 0; };
    const auto expected =
        std::ranges::find_if(all, [&](const auto& it) { return ask.fits(it.second.room) && is_even(it.second); });
    const auto found = index.first_fit(ask, is_even);
    ASSERT_EQ(found.has_value(), expected != all.end());
    if (found) {
      ASSERT_EQ(*found, expected->second.poll);
    }
  }
  std::vector<std::uint64_t> order;
  EXPECT_TRUE(index.each_descending([&](const RoomIndex::Entry& it) {
    order.push_back(it.room.milli_cpus);
    return true;
  }));
  EXPECT_EQ(order.size(), all.size());
  EXPECT_TRUE(std::ranges::is_sorted(order, std::greater{}));
}

TEST(RoomIndex, LooksAtFewOfTheManyThatHaveTooLittleOfSomething) {
  RoomIndex index;
  for (std::uint64_t poll = 0; poll < 20'000; ++poll)
    index.insert({{8000, poll == 12'345 ? 64U : poll % 8, {}}, poll, 0});
  std::size_t looked_at = 0;
  const auto found = index.first_fit({1000, 32, {}}, [&](const RoomIndex::Entry&) {
    ++looked_at;
    return true;
  });
  EXPECT_EQ(found, 12'345U);
  EXPECT_EQ(looked_at, 1U);
  EXPECT_FALSE(index.first_fit({9000, 0, {}}, kAny));
}

}  // namespace
}  // namespace drover
