#include "worker/images.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/text.h"

namespace drover {
namespace {

using Plan = ImageResult<std::shared_ptr<const ContainerPlan>>;

/// A loop that turns when it is told to, and registries that answer when they are told to.
class ImagesTest : public testing::Test {
 protected:
  ~ImagesTest() override { images_.reset(); }

  std::shared_ptr<ImageWish> want(const std::string& image, const std::string& who, ContainerOptions options = {}) {
    options.image = image;
    return images_->want(options,
                         [this, who](const Plan& got) { got_[who] = got ? (*got)->options.hostname : "none"; });
  }
  void answer(const std::string& image) {
    const std::lock_guard lock(mutex_);
    answered_.insert(image);
    wakes_.notify_all();
  }
  /// Turns the loop until it is so.
  template <class Condition>
  void until(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    std::unique_lock lock(mutex_);
    while (true) {
      while (!posted_.empty()) {
        auto work = std::move(posted_.front());
        posted_.pop_front();
        lock.unlock();
        work();
        lock.lock();
      }
      if (condition()) return;
      ASSERT_NE(wakes_.wait_until(lock, end), std::cv_status::timeout);
    }
  }

  Plan fetch(const ContainerOptions& options, const ImagePlace::Tell& tell, const std::stop_token& stop) {
    tell("fetching");
    std::unique_lock lock(mutex_);
    begun_.push_back(options.image);
    wakes_.notify_all();
    const bool came = wakes_.wait(lock, stop, [&] { return answered_.contains(options.image); });
    if (!came) stopped_.insert(options.image);
    wakes_.notify_all();
    if (!came) return image_fail(ImageFault::cancelled, "the fetch was cancelled");
    auto plan = std::make_shared<ContainerPlan>();
    plan->options = options;
    return plan;
  }

  std::mutex mutex_;
  std::condition_variable_any wakes_;
  std::deque<std::function<void()>> posted_;
  std::vector<std::string> begun_;
  std::set<std::string> answered_;
  std::set<std::string> stopped_;
  std::map<std::string, std::string> got_;   // who: the name of the host that he asked for
  std::map<std::string, std::string> said_;  // of which image
  std::unique_ptr<Images> images_ =
      std::make_unique<Images>([this](const ContainerOptions& options, const ImagePlace::Tell& tell,
                                      const std::stop_token& stop) { return fetch(options, tell, stop); },
                               [] {},
                               [this](std::function<void()> work) {
                                 const std::lock_guard lock(mutex_);
                                 posted_.push_back(std::move(work));
                                 wakes_.notify_all();
                               },
                               [this](const std::string& image, const std::string& words) { said_[image] = words; });
};

TEST_F(ImagesTest, ManyWhoWantAnImageHaveItFetchedOnceAndEachHasHisOwnOptions) {
  const auto one = want("x", "one", {.hostname = "one"});
  until([&] { return begun_.size() == 1; });
  until([&] { return said_.contains("x"); });
  said_.clear();
  const auto two = want("x", "two", {.hostname = "two"});
  until([&] { return said_.contains("x"); });  // how far it is, though nothing moves
  EXPECT_EQ(said_["x"], "fetching");
  answer("x");
  until([&] { return got_.size() == 2; });
  EXPECT_EQ(got_, (std::map<std::string, std::string>{{"one", "one"}, {"two", "two"}}));
  EXPECT_EQ(begun_.size(), 1U);
}

TEST_F(ImagesTest, TheLastWhoDoesNotWaitAnyMoreStopsTheFetch) {
  auto one = want("x", "one");
  auto two = want("x", "two");
  until([&] { return begun_.size() == 1; });
  one.reset();
  EXPECT_TRUE(stopped_.empty());
  two.reset();
  until([&] { return stopped_.contains("x"); });
  // Whoever wants it then has it fetched anew.
  const auto three = want("x", "three");
  until([&] { return begun_.size() == 2; });
  answer("x");
  until([&] { return got_.size() == 1; });
  EXPECT_TRUE(got_.contains("three"));
}

TEST_F(ImagesTest, WhoWaitsNoMoreHearsNothing) {
  auto one = want("x", "one");
  const auto two = want("x", "two");
  one.reset();
  answer("x");
  until([&] { return got_.contains("two"); });
  EXPECT_EQ(got_.size(), 1U);
}

TEST_F(ImagesTest, ImagesThatHangHoldUpOthersOnlyWhenThereAreManyAndThenThatIsSaid) {
  std::vector<std::shared_ptr<ImageWish>> hung;
  for (std::size_t i = 1; i < Images::kMostAtOnce; ++i) hung.push_back(want(concat("hangs", i), "hung"));
  auto good = want("good", "good");
  answer("good");
  until([&] { return got_.contains("good"); });
  hung.push_back(want("hangs", "hung"));
  until([&] { return begun_.size() == Images::kMostAtOnce + 1; });
  const auto late = want("late", "late");
  until([&] { return said_.contains("late"); });
  EXPECT_EQ(said_["late"], "waits for 16 other images to be fetched");
  auto given_up = want("given up", "given up");
  given_up.reset();
  answer("late");
  hung.erase(hung.begin());
  until([&] { return got_.contains("late"); });
  EXPECT_EQ(std::ranges::find(begun_, "given up"), begun_.end());
}

TEST_F(ImagesTest, AtTheEndWhatIsBeingFetchedIsGivenUp) {
  const auto wish = want("x", "one");
  until([&] { return begun_.size() == 1; });
  images_.reset();
  EXPECT_TRUE(stopped_.contains("x"));
}

}  // namespace
}  // namespace drover
