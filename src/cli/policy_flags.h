// The flags that say how items are retried, timed and given up, and the policy they make.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/policy.h"

namespace CLI {
class App;
}

namespace drover {

struct PolicyFlags {
  std::string timeout;
  std::string grace;
  std::uint32_t retries = 0;
  std::string retry_delay;
  std::vector<std::string> retry_on;
  std::string max_failures;
};

void add_policy_flags(CLI::App& verb, PolicyFlags& flags);

/// `total` is what a percentage is of.
Result<Policy> make_policy(const PolicyFlags& flags, std::uint64_t total);

/// The same without the result: what is wrong is said before the list is read.
Result<void> check_policy(const PolicyFlags& flags);

}  // namespace drover
