// Looks at GPUs while items have them, a few times a second and on a thread of its own: a driver may take its time.
#pragma once

#include <functional>
#include <map>
#include <memory>
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

  explicit GpuMonitor(OpenReader open_reader);
  /// A driver that does not answer is waited for only so long: its thread is left behind.
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  /// The GPUs that items have from now on, by UUID. The first call that names one starts the thread.
  void watch(std::set<std::string> gpus);
  /// GPUs that failed since the last call, each of them once.
  std::vector<GpuFailure> take_failures();
  /// Looks soon rather than when it is time.
  void look_now();
  /// Whether a look that began after this time has ended, so that failures up to then are known; or none ever will.
  bool has_looked_since(std::int64_t epoch_ms) const;
  /// Times since the epoch.
  GpuUse use_of(const std::set<std::string>& gpus, std::int64_t from_ms, std::int64_t to_ms) const;
  std::map<std::string, Now> now() const;
  /// What is not known of these GPUs, and why; empty: all is known.
  std::string trouble() const;

 private:
  class Looker;
  const std::shared_ptr<Looker> looker_;  // which the thread has too
  std::thread thread_;
};

}  // namespace drover
