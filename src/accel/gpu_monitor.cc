#include "accel/gpu_monitor.h"

#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/text.h"

namespace drover {
namespace {

constexpr std::chrono::milliseconds kInterval(250);
constexpr std::chrono::seconds kOpenAgain(60);
constexpr std::chrono::milliseconds kPatience(500);

std::int64_t epoch_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

class GpuMonitor::Looker {
 public:
  explicit Looker(OpenReader open_reader) : open_reader_(std::move(open_reader)) {}

  /// True: there is something to look at.
  bool watch(std::set<std::string> gpus) {
    const std::scoped_lock lock(mutex_);
    // What is watched anew begins anew: meanwhile somebody else had it.
    std::erase_if(watched_, [&](const auto& it) { return !gpus.contains(it.first); });
    const bool is_new = gpus != gpus_;
    gpus_ = std::move(gpus);
    if (is_new) look_now_locked();
    return !gpus_.empty();
  }

  void look_now() {
    const std::scoped_lock lock(mutex_);
    look_now_locked();
  }

  std::vector<GpuFailure> take_failures() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(failures_, {});
  }

  bool has_looked_since(std::int64_t since_ms) const {
    const std::scoped_lock lock(mutex_);
    return !trouble_.empty() || looked_ms_ >= since_ms;
  }

  GpuUse use_of(const std::set<std::string>& gpus, std::int64_t from_ms, std::int64_t to_ms) const {
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

  std::map<std::string, Now> now() const {
    const std::scoped_lock lock(mutex_);
    std::map<std::string, Now> out;
    for (const auto& [gpu, it] : watched_) {
      if (it.is_seen) out.emplace(gpu, it.now);
    }
    return out;
  }

  std::string trouble() const {
    const std::scoped_lock lock(mutex_);
    if (!trouble_.empty()) return concat(trouble_, "; what items make of their GPUs is not measured");
    return unheard_.empty() ? unheard_ : concat(unheard_, "; items that get it after such an error may fail");
  }

  void run() {
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
      std::string trouble;
      if (reader_ == nullptr) {
        auto opened = open_reader_();
        if (opened) {
          reader_ = std::move(*opened);
        } else {
          trouble = opened.error().message;
        }
      }
      const std::int64_t begun_ms = epoch_ms();
      if (reader_ != nullptr) {
        take_samples();
        note_failures();
      }
      lock.lock();
      trouble_ = trouble;
      looked_ms_ = begun_ms;
      const auto pause = trouble.empty() ? std::chrono::milliseconds(kInterval) : kOpenAgain;
      wake_.wait_for(lock, pause, [this] { return !wanted_ || (trouble_.empty() && look_soon_); });
      look_soon_ = false;
    }
    is_done_ = true;
    done_.notify_all();
  }

  /// True: the thread ends now.
  bool end() {
    std::unique_lock lock(mutex_);
    wanted_ = false;
    wake_.notify_all();
    return done_.wait_for(lock, kPatience, [this] { return is_done_; });
  }

 private:
  struct Watched {
    GpuHistory history;
    Now now;
    bool is_seen = false;
  };

  void look_now_locked() {
    look_soon_ = true;
    wake_.notify_all();
  }

  void take_samples() {
    std::set<std::string> gpus;
    std::set<std::string> unseen;
    {
      const std::scoped_lock lock(mutex_);
      gpus = gpus_;
      for (const std::string& gpu : gpus) {
        if (watched_.try_emplace(gpu).second) unseen.insert(gpu);
      }
    }
    for (const std::string& gpu : gpus) {
      const auto watched = unseen.contains(gpu) ? reader_->watch(gpu) : Result<void>();
      const auto sample = reader_->sample(gpu);
      const std::int64_t now_ms = epoch_ms();
      const std::scoped_lock lock(mutex_);
      if (!watched) unheard_ = watched.error().message;
      const auto it = watched_.find(gpu);
      if (!sample || it == watched_.end()) continue;
      it->second.history.add(now_ms, *sample);
      it->second.is_seen = true;
      Now& now = it->second.now;
      now.sample = *sample;
      if (sample->busy_percent.value_or(1) > 0) {
        now.idle_since_ms = 0;
      } else if (now.idle_since_ms == 0) {
        now.idle_since_ms = now_ms;
      }
    }
  }

  void note_failures() {
    const std::vector<GpuFailure> failures = reader_->failures();
    const std::scoped_lock lock(mutex_);
    for (const GpuFailure& failure : failures) {
      if (failed_.insert(failure.gpu).second) failures_.push_back(failure);
    }
  }

  const OpenReader open_reader_;
  std::unique_ptr<GpuReader> reader_;  // of the thread alone

  mutable std::mutex mutex_;  // guards what follows; nobody holds it while the driver is asked
  std::condition_variable wake_, done_;
  std::set<std::string> gpus_;
  std::map<std::string, Watched> watched_;
  std::set<std::string> failed_;
  std::vector<GpuFailure> failures_;
  std::string trouble_;
  std::string unheard_;         // why errors of a GPU are not heard of
  std::int64_t looked_ms_ = 0;  // when the last look began that has ended
  bool look_soon_ = false;
  bool wanted_ = true;
  bool is_done_ = false;
};

GpuMonitor::GpuMonitor(OpenReader open_reader) : looker_(std::make_shared<Looker>(std::move(open_reader))) {}

GpuMonitor::~GpuMonitor() {
  if (!thread_.joinable()) return;
  if (looker_->end()) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void GpuMonitor::watch(std::set<std::string> gpus) {
  if (!looker_->watch(std::move(gpus)) || thread_.joinable()) return;
  thread_ = std::thread([looker = looker_] { looker->run(); });
}

void GpuMonitor::look_now() {
  looker_->look_now();
}

std::vector<GpuFailure> GpuMonitor::take_failures() {
  return looker_->take_failures();
}

bool GpuMonitor::has_looked_since(std::int64_t epoch_ms) const {
  return looker_->has_looked_since(epoch_ms);
}

GpuUse GpuMonitor::use_of(const std::set<std::string>& gpus, std::int64_t from_ms, std::int64_t to_ms) const {
  return looker_->use_of(gpus, from_ms, to_ms);
}

std::map<std::string, GpuMonitor::Now> GpuMonitor::now() const {
  return looker_->now();
}

std::string GpuMonitor::trouble() const {
  return looker_->trouble();
}

}  // namespace drover
