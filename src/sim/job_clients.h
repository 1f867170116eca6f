// Those who submit, cancel, retry and follow jobs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/random.h"
#include "sim/auditor.h"
#include "sim/clients.h"
#include "sim/event_queue.h"
#include "sim/happenings/jobs.h"
#include "sim/sim_server.h"

namespace drover::sim {

class JobClients {
 public:
  JobClients(EventQueue& events, Clients& clients, SimServer& server, Auditor& auditor, std::uint64_t seed)
      : events_(events), clients_(clients), server_(server), auditor_(auditor), random_(seed ^ 0x636c69) {}

  /// Said again while its queue is disabled, and only when the jobs before it are accepted.
  void submit(const Submit& submit);
  /// A job that was not accepted yet is cancelled when it is.
  void cancel(std::uint64_t job, bool spares_running = false);
  /// Reads the ledger, and takes up again what it shows as failed or cancelled.
  void retry(std::uint64_t job);
  void watch(const WatchItem& what);
  /// Lets go of what ended long ago, as the server does by itself.
  void forget_old();
  /// Jobs that nobody can run, or with items that hang without a timeout, end only if somebody cancels them.
  void cancel_what_never_ends();

  /// Everything was submitted.
  bool idle() const { return unsent_.empty(); }

 private:
  struct JobOfClient {
    Submit submit;
    Uuid uuid;
    std::optional<JobId> id;
    bool cancel_when_accepted = false;
  };

  void send(std::uint64_t number);
  void send_later(std::uint64_t number);

  EventQueue& events_;
  Clients& clients_;
  SimServer& server_;
  Auditor& auditor_;
  Random random_;
  std::map<std::uint64_t, JobOfClient> jobs_;
  std::set<std::uint64_t> unsent_;  // submissions that wait for something
};

}  // namespace drover::sim
