// Looks at GPUs while items have them, a few times a second and on a thread of its own: a driver may take its time.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "accel/nvml.h"

namespace drover {

class GpuMonitor {
 public:
  using OpenReader = std::function<Result<std::unique_ptr<GpuReader>>()>;

  /// What is known of a GPU now.
  struct Now {
    GpuSample sample;
    std::int64_t idle_since_ms = 0;  // 0: it is busy
  };

  explicit GpuMonitor(OpenReader open_reader) : open_reader_(std::move(open_reader)) {}
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  /// The GPUs that items have from now on, by UUID. The first call that names one starts the thread.
  void watch(std::set<std::string> gpus);
  /// GPUs that failed since the last call, each of them once.
  std::vector<GpuFailure> take_failures();
  /// Times since the epoch.
  GpuUse use_of(const std::set<std::string>& gpus, std::int64_t from_ms, std::int64_t to_ms) const;
  std::map<std::string, Now> now() const;
  /// Why nothing is known; empty: it is.
  std::string trouble() const;

 private:
  struct Watched {
    GpuHistory history;
    Now now;
  };

  void look();
  void take_samples();
  void note_failures();

  const OpenReader open_reader_;
  std::unique_ptr<GpuReader> reader_;  // of the thread alone

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::set<std::string> gpus_;
  std::map<std::string, Watched> watched_;
  std::set<std::string> failed_;
  std::vector<GpuFailure> failures_;
  std::string trouble_;
  bool wanted_ = true;

  std::thread thread_;
};

}  // namespace drover
