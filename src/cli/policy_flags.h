// The flags that say how items are retried, timed and given up, and the policy they make.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/verb_options.h"
#include "core/policy.h"

namespace drover {

struct PolicyFlags {
  std::string timeout;
  std::string grace;
  std::uint32_t retries = 0;
  std::string retry_delay;
  std::vector<std::string> retry_on;
  std::string max_failures;
};

void add_policy_flags(const Verb& verb, PolicyFlags& flags);

/// `total` is what a percentage is of.
Result<Policy> make_policy(const PolicyFlags& flags, std::uint64_t total);

/// `base` with the flags that were given over it. `taken` hears the name of each field that changed.
Result<Policy> policy_over(const Policy& base, const PolicyFlags& flags, const Verb& verb, std::uint64_t total,
                           const std::function<void(const char* field)>& taken = {});

/// The same without the result: what is wrong is said before the list is read.
Result<void> check_policy(const PolicyFlags& flags);

}  // namespace drover
