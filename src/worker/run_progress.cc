#include "worker/run_progress.h"

#include <algorithm>

namespace drover {
namespace {

constexpr std::size_t kMostFailures = 20;

}  // namespace

void RunStatistics::add(const Usage& ended) {
  ++ended_;
  wall_us_.add(ended.wall_us);
  wall_sum_us_ += ended.wall_us;
  ended_cpu_us_ += ended.user_us + ended.system_us;
}

void RunStatistics::add(FailedAttempt failed) {
  last_failures_.push_front(std::move(failed));
  if (last_failures_.size() > kMostFailures) last_failures_.pop_back();
}

void RunStatistics::add(const ProcessUse& running, std::int64_t now_ms) {
  const std::int64_t cpu_us = ended_cpu_us_ + running.cpu_us;
  if (measured_ms_ != 0 && now_ms > measured_ms_) {
    const auto used = static_cast<double>(std::max<std::int64_t>(0, cpu_us - cpu_us_before_));
    cpu_cores_ = used / (static_cast<double>(now_ms - measured_ms_) * 1000);
  }
  cpu_us_before_ = cpu_us;
  measured_ms_ = now_ms;
  memory_bytes_ = running.memory_bytes;
}

}  // namespace drover
