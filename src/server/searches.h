// Searches through the logs of jobs, each the answer to a request: a JSON object for each line that matches, sent as
// they are found.
//
// No thread waits for a peer, and none belongs to one search. A search has its turn on a thread that may wait for
// disks, for a few milliseconds; then others have theirs. One whose peer is slow has no turn until the peer has taken
// what was found for it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "base/holder.h"
#include "ports/backend.h"
#include "server/quota.h"

namespace drover {

class Searches {
 public:
  /// Does the work on a thread that may wait for disks and has a connection to the ledger (ReadPool).
  using Later = std::function<void(const Holder&, std::function<void()>)>;

  Searches(Later later, std::string logs);
  ~Searches();
  Searches(const Searches&) = delete;
  Searches& operator=(const Searches&) = delete;

  void begin(const SearchQuestion& question, HttpReply reply);
  /// What is under way ends at its next turn.
  void stop() { stopped_ = true; }

 private:
  class Search;

  void take_turns(const std::shared_ptr<Search>& search);

  const Later later_;
  const std::string logs_;
  Quota quota_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace drover
