// All streams as of the last commit, for whoever looks: a message is sent and received without a look at the ledger.
// From any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/command.h"

namespace drover {

class StreamBoard {
 public:
  /// What was in the ledger before the first request.
  void know(const std::vector<Stream>& streams);
  /// What a command about streams was answered, in the order of commits.
  void take(const Effect& effect, const std::string& stream);

  /// Null if not found.
  std::shared_ptr<const Stream> find(const std::string& name) const;
  /// Those whose names begin so, by name.
  std::vector<std::shared_ptr<const Stream>> list(const std::string& prefix) const;

 private:
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, std::shared_ptr<const Stream>> streams_;
};

/// The stream that a command changes; empty: none.
std::string changed_stream(const Command& command);

}  // namespace drover
