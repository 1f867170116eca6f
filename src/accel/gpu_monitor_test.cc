#include "accel/gpu_monitor.h"
#include "base/text.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace drover {
namespace {

std::int64_t epoch_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

template <class Holds>
bool wait_until(Holds&& holds) {
  for (int turn = 0; turn < 2000; ++turn) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

/// GPUs that a test makes up.
struct Gpus {
  std::mutex mutex;
  std::map<std::string, GpuSample> samples;
  std::vector<GpuFailure> failures;
  std::set<std::string> watched;
  std::size_t asked = 0;
  bool tells_of_failures = true;
};

class MadeUpReader : public GpuReader {
 public:
  explicit MadeUpReader(std::shared_ptr<Gpus> gpus) : gpus_(std::move(gpus)) {}

  std::optional<GpuSample> sample(const std::string& uuid) override {
    const std::scoped_lock lock(gpus_->mutex);
    ++gpus_->asked;
    const auto it = gpus_->samples.find(uuid);
    return it == gpus_->samples.end() ? std::nullopt : std::optional(it->second);
  }
  Result<void> watch(const std::string& uuid) override {
    const std::scoped_lock lock(gpus_->mutex);
    gpus_->watched.insert(uuid);
    if (gpus_->tells_of_failures) return {};
    return fail(ErrorCode::io, concat("nothing is told of GPU ", uuid));
  }
  std::vector<GpuFailure> failures() override {
    const std::scoped_lock lock(gpus_->mutex);
    return std::exchange(gpus_->failures, {});
  }

 private:
  const std::shared_ptr<Gpus> gpus_;
};

class GpuMonitorTest : public ::testing::Test {
 protected:
  void set(const std::string& gpu, const GpuSample& sample) {
    const std::scoped_lock lock(gpus_->mutex);
    gpus_->samples[gpu] = sample;
  }

  const std::shared_ptr<Gpus> gpus_ = std::make_shared<Gpus>();
  GpuMonitor monitor_{[this]() -> Result<std::unique_ptr<GpuReader>> { return std::make_unique<MadeUpReader>(gpus_); }};
};

TEST_F(GpuMonitorTest, TellsWhatTheGpusOfAnAttemptDidTogether) {
  set("a", {.busy_percent = 100, .memory_kib = 10});
  set("b", {.busy_percent = 50, .memory_kib = 5});
  set("c", {.busy_percent = 100, .memory_kib = 1000});
  monitor_.watch({"a", "b", "c"});
  ASSERT_TRUE(wait_until([&] { return monitor_.now().size() == 3; }));
  const std::int64_t begun_ms = epoch_ms();
  ASSERT_TRUE(wait_until([&] { return monitor_.use_of({"a", "b"}, begun_ms, epoch_ms()).peak_memory_kib == 15; }));
  const std::int64_t ended_ms = epoch_ms();
  EXPECT_EQ(monitor_.use_of({"a", "b"}, begun_ms, ended_ms).busy_us, (ended_ms - begun_ms) * 1500);
}

TEST_F(GpuMonitorTest, LooksAtNothingThatNobodyHas) {
  set("a", {.busy_percent = 100});
  monitor_.watch({"a"});
  ASSERT_TRUE(wait_until([&] { return monitor_.now().contains("a"); }));
  monitor_.watch({});
  EXPECT_TRUE(monitor_.now().empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::size_t asked = (std::scoped_lock(gpus_->mutex), gpus_->asked);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  const std::scoped_lock lock(gpus_->mutex);
  EXPECT_EQ(gpus_->asked, asked);
}

TEST_F(GpuMonitorTest, SaysSinceWhenAGpuIsIdle) {
  set("a", {.busy_percent = 3});
  monitor_.watch({"a"});
  ASSERT_TRUE(wait_until([&] { return monitor_.now().contains("a"); }));
  EXPECT_EQ(monitor_.now().at("a").idle_since_ms, 0);
  const std::int64_t before_ms = epoch_ms();
  set("a", {.busy_percent = 0});
  ASSERT_TRUE(wait_until([&] { return monitor_.now().at("a").idle_since_ms > 0; }));
  EXPECT_GE(monitor_.now().at("a").idle_since_ms, before_ms);
}

TEST_F(GpuMonitorTest, TellsOfAFailureOnce) {
  set("a", {});
  monitor_.watch({"a"});
  ASSERT_TRUE(wait_until([&] { return monitor_.now().contains("a"); }));
  {
    const std::scoped_lock lock(gpus_->mutex);
    EXPECT_TRUE(gpus_->watched.contains("a"));
    gpus_->failures = {{"a", "Xid 79"}, {"a", "Xid 79"}};
  }
  std::vector<GpuFailure> seen;
  ASSERT_TRUE(wait_until([&] { return !(seen = monitor_.take_failures()).empty(); }));
  EXPECT_EQ(seen, (std::vector<GpuFailure>{{"a", "Xid 79"}}));
  EXPECT_TRUE(monitor_.take_failures().empty());
}

TEST_F(GpuMonitorTest, SaysWhichFailuresItWillNotHearOf) {
  set("a", {});
  gpus_->tells_of_failures = false;
  monitor_.watch({"a"});
  ASSERT_TRUE(wait_until([&] { return monitor_.now().contains("a"); })) << "it is measured all the same";
  EXPECT_TRUE(monitor_.trouble().starts_with("nothing is told of GPU a; ")) << monitor_.trouble();
}

TEST(GpuMonitorWithoutNvml, SaysWhy) {
  GpuMonitor monitor([]() -> Result<std::unique_ptr<GpuReader>> { return fail(ErrorCode::not_found, "no library"); });
  monitor.watch({"a"});
  EXPECT_TRUE(
      wait_until([&] { return monitor.trouble() == "no library; what items make of their GPUs is not measured"; }));
  EXPECT_EQ(monitor.use_of({"a"}, 0, epoch_ms()), GpuUse{});
}

}  // namespace
}  // namespace drover
