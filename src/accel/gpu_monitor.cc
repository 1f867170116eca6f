#include "accel/gpu_monitor.h"

#include <signal.h>

#include <chrono>

namespace drover {
namespace {

constexpr std::chrono::milliseconds kInterval(250);
constexpr std::chrono::seconds kOpenAgain(60);

std::int64_t epoch_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

GpuMonitor::~GpuMonitor() {
  {
    const std::scoped_lock lock(mutex_);
    wanted_ = false;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void GpuMonitor::watch(std::set<std::string> gpus) {
  const std::scoped_lock lock(mutex_);
  if (gpus == gpus_) return;
  // What is watched anew begins anew: meanwhile somebody else had it.
  std::erase_if(watched_, [&](const auto& it) { return !gpus.contains(it.first); });
  gpus_ = std::move(gpus);
  if (!gpus_.empty() && !thread_.joinable()) thread_ = std::thread([this] { look(); });
  wake_.notify_all();
}

std::vector<GpuFailure> GpuMonitor::take_failures() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(failures_, {});
}

GpuUse GpuMonitor::use_of(const std::set<std::string>& gpus, std::int64_t from_ms, std::int64_t to_ms) const {
  const std::scoped_lock lock(mutex_);
  GpuUse sum;
  for (const std::string& gpu : gpus) {
    const auto it = watched_.find(gpu);
    if (it == watched_.end()) continue;
    const GpuUse use = it->second.history.between(from_ms, to_ms);
    sum.busy_us += use.busy_us;
    sum.peak_memory_kib += use.peak_memory_kib;
    sum.energy_mj += use.energy_mj;
  }
  return sum;
}

std::map<std::string, GpuMonitor::Now> GpuMonitor::now() const {
  const std::scoped_lock lock(mutex_);
  std::map<std::string, Now> out;
  for (const auto& [gpu, it] : watched_) out.emplace(gpu, it.now);
  return out;
}

std::string GpuMonitor::trouble() const {
  const std::scoped_lock lock(mutex_);
  return trouble_;
}

void GpuMonitor::look() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock lock(mutex_);
  while (wanted_) {
    if (gpus_.empty()) {
      wake_.wait(lock, [this] { return !wanted_ || !gpus_.empty(); });
      continue;
    }
    lock.unlock();
    if (reader_ == nullptr) {
      auto opened = open_reader_();
      if (opened) reader_ = std::move(*opened);
      lock.lock();
      trouble_ = opened ? "" : opened.error().message;
      if (!opened) wake_.wait_for(lock, kOpenAgain, [this] { return !wanted_; });
      continue;
    }
    take_samples();
    note_failures();
    lock.lock();
    wake_.wait_for(lock, kInterval, [this, before = gpus_] { return !wanted_ || gpus_ != before; });
  }
}

void GpuMonitor::take_samples() {
  std::set<std::string> gpus;
  std::set<std::string> unseen;
  {
    const std::scoped_lock lock(mutex_);
    gpus = gpus_;
    for (const std::string& gpu : gpus) {
      if (!watched_.contains(gpu)) unseen.insert(gpu);
    }
  }
  for (const std::string& gpu : gpus) {
    if (unseen.contains(gpu)) reader_->watch(gpu);
    const auto sample = reader_->sample(gpu);
    const std::int64_t now_ms = epoch_ms();
    const std::scoped_lock lock(mutex_);
    if (!gpus_.contains(gpu)) continue;
    Watched& it = watched_[gpu];
    if (!sample) continue;
    it.history.add(now_ms, *sample);
    it.now.sample = *sample;
    if (sample->busy_percent > 0) {
      it.now.idle_since_ms = 0;
    } else if (it.now.idle_since_ms == 0) {
      it.now.idle_since_ms = now_ms;
    }
  }
}

void GpuMonitor::note_failures() {
  const std::vector<GpuFailure> failures = reader_->failures();
  const std::scoped_lock lock(mutex_);
  for (const GpuFailure& failure : failures) {
    if (failed_.insert(failure.gpu).second) failures_.push_back(failure);
  }
}

}  // namespace drover
