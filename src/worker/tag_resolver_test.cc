#include "worker/tag_resolver.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>

namespace drover {
namespace {

/// A registry that answers nothing before it is told to, and then the name with a number.
class Registry {
 public:
  TagResolver::LookUp look_up() {
    return [this](const std::string& image, const std::stop_token& stop) -> Result<std::string> {
      std::unique_lock lock(mutex_);
      const int number = ++asked_;
      wakes_.notify_all();
      if (!wakes_.wait(lock, stop, [&] { return open_; })) return fail(ErrorCode::stopped, "stopped");
      return image + "#" + std::to_string(number);
    };
  }
  void wait_until_asked(int times) {
    std::unique_lock lock(mutex_);
    wakes_.wait(lock, [&] { return asked_ >= times; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    wakes_.notify_all();
  }
  int asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any wakes_;
  int asked_ = 0;
  bool open_ = false;
};

std::future<Result<std::string>> ask(TagResolver& resolver, const std::string& image) {
  auto promise = std::make_shared<std::promise<Result<std::string>>>();
  auto future = promise->get_future();
  resolver.resolve(image, [promise](Result<std::string> found) { promise->set_value(std::move(found)); });
  return future;
}

TEST(TagResolver, ARegistryThatIsAwayIsNotAskedAgainAtOnce) {
  std::atomic<int> asked = 0;
  TagResolver resolver([&](const std::string& image, const std::stop_token&) -> Result<std::string> {
    ++asked;
    if (image == "wrong") return fail(ErrorCode::not_found, "no such tag");
    return fail(ErrorCode::unreachable, "nobody answers");
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(resolver, "away").get().error().code, ErrorCode::unreachable);
  EXPECT_EQ(asked, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(resolver, "wrong").get().error().code, ErrorCode::not_found);
  EXPECT_EQ(asked, 4) << "a tag may be pushed at any time";
}

TEST(TagResolver, OneThatWaitsAnswersAllWhoAskForIt) {
  Registry registry;
  TagResolver resolver(registry.look_up());
  std::vector<std::future<Result<std::string>>> first;
  for (int i = 1; i <= 4; ++i) first.push_back(ask(resolver, "image" + std::to_string(i)));
  registry.wait_until_asked(4);  // every thread has one
  auto one = ask(resolver, "tag");
  auto other = ask(resolver, "tag");
  registry.open();
  EXPECT_EQ(one.get().value(), "tag#5");
  EXPECT_EQ(other.get().value(), "tag#5");
  for (auto& it : first) EXPECT_TRUE(it.get());
  EXPECT_EQ(ask(resolver, "tag").get().value(), "tag#6") << "a tag may mean something else by now";
}

TEST(TagResolver, WhoeverIsTooManyIsToldAtOnce) {
  Registry registry;
  TagResolver resolver(registry.look_up());
  std::vector<std::future<Result<std::string>>> waiting;
  for (int i = 1; i <= 4; ++i) waiting.push_back(ask(resolver, "held" + std::to_string(i)));
  registry.wait_until_asked(4);
  for (int i = 1; i <= 16; ++i) waiting.push_back(ask(resolver, "waits" + std::to_string(i)));
  EXPECT_EQ(ask(resolver, "too much").get().error().code, ErrorCode::in_use);
  registry.open();
  for (auto& it : waiting) EXPECT_TRUE(it.get());
}

TEST(TagResolver, ItsEndWaitsForNoRegistry) {
  Registry registry;
  std::atomic<int> answers = 0;
  {
    TagResolver resolver(registry.look_up());
    for (int i = 1; i <= 6; ++i) {
      resolver.resolve("image" + std::to_string(i), [&](const Result<std::string>&) { ++answers; });
    }
    registry.wait_until_asked(4);
  }
  EXPECT_EQ(answers, 0);
}

}  // namespace
}  // namespace drover
