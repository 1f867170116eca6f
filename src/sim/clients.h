// Those who submit, cancel, retry and look after queues, and say so again until they are answered.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "sim/auditor.h"
#include "sim/event_queue.h"
#include "sim/network.h"
#include "sim/script.h"
#include "sim/sim_server.h"

namespace drover::sim {

class Clients {
 public:
  Clients(EventQueue& events, Network& network, SimServer& server, Auditor& auditor, std::uint64_t seed)
      : events_(events), network_(network), server_(server), auditor_(auditor), random_(seed ^ 0x636c69) {}

  /// Said again while its queue is disabled, and only when the jobs before it are accepted.
  void submit(const Submit& submit);
  /// A job that was not accepted yet is cancelled when it is.
  void cancel(std::uint64_t job);
  /// Reads the ledger, and takes up again what it shows as failed or cancelled.
  void retry(std::uint64_t job);
  void change_queue(const Queue& queue);
  void close_queue(const CloseQueue& how);
  void remove_queue(const std::string& queue);
  void watch(const WatchItem& what);
  void drain(const std::string& worker);
  void fence(const std::string& worker);
  /// Sees to it that queues are as they shall be: an order to close one may have overtaken the one to open it.
  void tend_queues();
  void readmit(const std::string& worker);
  /// Lets go of what ended long ago, as the server does by itself.
  void forget_old();
  /// Jobs that nobody can run, or with items that hang without a timeout, end only if somebody cancels them.
  void cancel_what_never_ends();

  /// Everybody has been answered.
  bool idle() const { return asked_.empty() && unsent_.empty(); }

 private:
  struct JobOfClient {
    Submit submit;
    Uuid uuid;
    std::optional<JobId> id;
    bool cancel_when_accepted = false;
  };

  struct QueueOfClient {
    Queue queue;
    int closed = 0;  // how often
  };

  void send(std::uint64_t number);
  void send_later(std::uint64_t number);
  void tell_queue(const std::string& name);
  void ask(const Command& command, std::function<void(const Effect&)> then);
  void ask_again(std::uint64_t question);

  struct Question {
    Command command;
    std::function<void(const Effect&)> then;
  };

  EventQueue& events_;
  Network& network_;
  SimServer& server_;
  Auditor& auditor_;
  Random random_;
  std::map<std::uint64_t, JobOfClient> jobs_;
  std::set<std::uint64_t> unsent_;  // submissions that wait for something
  std::map<std::string, QueueOfClient> queues_;
  std::map<std::uint64_t, Question> asked_;
  std::uint64_t last_question_ = 0;
};

}  // namespace drover::sim
