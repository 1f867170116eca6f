// Figures for Prometheus: what is counted as it happens, and what is looked up when somebody asks. From any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/lease.h"
#include "ports/backend.h"
#include "server/job_board.h"

namespace drover {

class Metrics {
 public:
  struct FleetBills {
    std::vector<Fleet> fleets;
    std::vector<Machine> machines;
  };
  /// What is looked up for each answer.
  struct Sources {
    const JobBoard& board;
    std::function<Result<std::vector<WorkerView>>()> workers;  // may wait for disks
    /// The first so many by name. May wait for the core.
    std::function<Result<std::vector<StreamView>>(std::uint64_t most)> streams;
    std::function<Result<FleetBills>()> fleets;  // may wait for disks
    std::function<std::int64_t()> now_ms;
    std::function<std::uint64_t()> dropped_log_entries;
    std::string folder;  // the server's
  };
  explicit Metrics(Sources sources);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void leased(const std::vector<Lease>& leases);
  /// How long a poll took from its arrival to its answer, waiting for work included.
  void polled(double seconds);
  /// What became durable, and how long it took. Attempts are counted here: by what the core made of them, once each,
  /// those that no worker told of among them.
  void committed(double seconds, const Batch& batch);
  void answered(int status);

  /// In Prometheus' words. Waits for disks and for the core.
  std::string text() const;

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace drover
