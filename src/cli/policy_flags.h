// The flags that say how items are retried, timed and given up, and the policy they make.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/field_flags.h"

namespace drover {

struct PolicyFlags {
  FieldFlags fields;
  std::vector<std::string> retry_on;
  std::string max_failures;

  /// Whether any of them was typed.
  bool any() const { return fields.any() || !retry_on.empty() || !max_failures.empty(); }
};

void add_policy_flags(const Verb& verb, PolicyFlags& flags);

/// Puts what was typed over what the job says. `total` is what a percentage is of.
Result<void> apply_policy_flags(const PolicyFlags& flags, std::uint64_t total, Submission& job);
/// The same for a policy alone.
Result<Policy> policy_over(const Policy& base, const PolicyFlags& flags, std::uint64_t total);

}  // namespace drover
