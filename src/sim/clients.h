// Those who ask the server for something, and say so again until they are answered.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "core/command.h"
#include "sim/event_queue.h"
#include "sim/network.h"
#include "sim/sim_server.h"

namespace drover::sim {

class Clients {
 public:
  Clients(EventQueue& events, Network& network, SimServer& server)
      : events_(events), network_(network), server_(server) {}

  static constexpr std::int64_t kAskAgainMs = 7'000;
  void ask(const Command& command, std::function<void(const Effect&)> then);

  /// Everybody has been answered.
  bool idle() const { return asked_.empty(); }

 private:
  struct Question {
    Command command;
    std::function<void(const Effect&)> then;
  };

  void ask_again(std::uint64_t question);

  EventQueue& events_;
  Network& network_;
  SimServer& server_;
  std::map<std::uint64_t, Question> asked_;
  std::uint64_t last_question_ = 0;
};

/// What was asked about is not there.
bool is_unknown(const Effect& effect);

}  // namespace drover::sim
