// What a job allows its items: tries, rules on exit, losses, time, failures.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/words.h"

namespace drover {

enum class RuleAction : std::uint8_t { retry, exit };

/// One rule of AWS Batch's evaluateOnExit. Conditions are patterns that may end in `*`; an empty one is not asked;
/// all that are asked must match.
struct ExitRule {
  std::string on_status_reason;
  std::string on_reason;
  std::string on_exit_code;
  RuleAction action = RuleAction::retry;

  bool operator==(const ExitRule&) const = default;
};

struct Policy {
  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

  std::uint32_t max_tries = 1;    // counts the first
  std::vector<ExitRule> rules;    // the first that matches decides; none: retry
  std::uint32_t lost_limit = 20;  // an item lost this often is given up
  std::int64_t retry_delay_ms = 0;
  std::int64_t timeout_ms = 0;            // per attempt; 0: none
  std::int64_t grace_ms = 30'000;         // from SIGTERM to SIGKILL
  std::uint64_t max_failures = kNoLimit;  // more failed items than this stop the job

  bool operator==(const Policy&) const = default;
};

/// What becomes of an item after an attempt that did not succeed.
enum class Verdict : std::uint8_t { run_again, give_up };

/// AWS Batch's rules, for an attempt that ended by itself; `tries` includes it.
Verdict after_failure(const Policy& policy, const Outcome& outcome, std::uint32_t tries);

/// For an attempt whose machine went away; `losses` includes it.
Verdict after_loss(const Policy& policy, std::uint32_t losses);

/// The words that rules are matched against, as AWS Batch gives them.
struct ExitWords {
  std::string status_reason;
  std::string reason;
  std::string exit_code;  // decimal; 128 + n for signal n; empty when the command never started
};
ExitWords exit_words(const Outcome& outcome);

}  // namespace drover
