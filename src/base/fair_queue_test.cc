#include "base/fair_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace drover {
namespace {

std::vector<int> drain(FairQueue<int>& queue) {
  std::vector<int> order;
  while (auto taken = queue.pop()) {
    order.push_back(taken->work);
    queue.finished(taken->holder);
  }
  return order;
}

TEST(FairQueue, HoldersHaveTheirTurnsOneAfterAnother) {
  FairQueue<int> queue;
  for (const int work : {1, 2, 3, 4}) queue.push("greedy", work);
  queue.push("modest", 10);
  queue.push("other", 20);
  EXPECT_EQ(drain(queue), (std::vector<int>{1, 10, 20, 2, 3, 4}));
  EXPECT_TRUE(queue.empty());
}

TEST(FairQueue, OneHolderHasOnlySoMuchUnderWay) {
  FairQueue<int> queue(1);
  queue.push("a", 1);
  queue.push("a", 2);
  queue.push("b", 3);
  const auto next = [&] {
    const auto popped = queue.pop();
    return popped ? popped->work : 0;
  };
  EXPECT_EQ(next(), 1);
  EXPECT_EQ(next(), 3);
  EXPECT_FALSE(queue.pop());
  EXPECT_FALSE(queue.empty());
  queue.finished("a");
  EXPECT_EQ(next(), 2);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace drover
