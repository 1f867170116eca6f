#include "core/policy.h"

#include <string_view>

#include "core/jobs/job_faults.h"
namespace drover {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return true;
  if (text.empty()) return false;  // there is no exit code, say: not even `*` matches what is not there
  if (pattern.back() == '*') return text.starts_with(pattern.substr(0, pattern.size() - 1));
  return text == pattern;
}

// The first rule that matches decides. No match means retry.
RuleAction evaluate(const std::vector<ExitRule>& rules, const ExitWords& words) {
  for (const ExitRule& rule : rules) {
    if (matches(rule.on_status_reason, words.status_reason) && matches(rule.on_reason, words.reason) &&
        matches(rule.on_exit_code, words.exit_code)) {
      return rule.action;
    }
  }
  return RuleAction::retry;
}

}  // namespace

ExitWords exit_words(const Outcome& outcome) {
  ExitWords words{"Essential container in task exited", describe(outcome), {}};
  switch (outcome.ending) {
    case Ending::exited: words.exit_code = std::to_string(outcome.exit_code); break;
    case Ending::signalled:
    case Ending::timed_out:
    case Ending::stopped:
    case Ending::out_of_memory:
      if (outcome.signal != 0) words.exit_code = std::to_string(128 + outcome.signal);
      break;
    case Ending::not_started: words.status_reason = "Task failed to start"; break;
    case Ending::lost: words.status_reason = "Host EC2 (instance ID) terminated."; break;
  }
  return words;
}

Verdict after_failure(const Policy& policy, const Outcome& outcome, std::uint32_t tries) {
  if (outcome.ending == Ending::timed_out || outcome.ending == Ending::stopped) return Verdict::give_up;
  if (tries >= policy.max_tries) return Verdict::give_up;
  return evaluate(policy.rules, exit_words(outcome)) == RuleAction::retry ? Verdict::run_again : Verdict::give_up;
}

Verdict after_loss(const Policy& policy, std::uint32_t losses) {
  if (losses >= policy.lost_limit + (injected(JobFault::one_loss_too_many) ? 1 : 0)) return Verdict::give_up;
  const ExitWords words = exit_words(Outcome{.ending = Ending::lost, .reason = {}});
  return evaluate(policy.rules, words) == RuleAction::retry ? Verdict::run_again : Verdict::give_up;
}

}  // namespace drover
