#include "cli/policy_flags.h"

#include <fmt/format.h>

#include <charconv>

#include "base/units.h"

namespace drover {
namespace {

// "exit:75" → a rule with this one condition.
Result<ExitRule> parse_rule(std::string_view text, std::string_view condition) {
  ExitRule rule;
  const auto bad = [&](std::string_view why) {
    return fail(ErrorCode::bad_input, fmt::format("--retry-on '{}': {}", text, why),
                "write exit:CODE, signal:NUMBER, reason:TEXT or status:TEXT; a comma between conditions means 'or', "
                "and a trailing * matches the rest");
  };
  const std::size_t colon = condition.find(':');
  if (colon == std::string_view::npos || colon + 1 == condition.size()) return bad("a condition must be NAME:PATTERN");
  const std::string_view kind = condition.substr(0, colon);
  const std::string pattern(condition.substr(colon + 1));
  if (pattern.find('*') < pattern.size() - 1) return bad("* is only allowed at the end");
  if (pattern.size() > 512) return bad("a pattern can have at most 512 characters");
  if (kind == "exit") {
    if (pattern.find_first_not_of("0123456789*") != std::string::npos) return bad("an exit code must be a number");
    rule.on_exit_code = pattern;
  } else if (kind == "signal") {
    auto number = parse_number(pattern);
    if (!number || *number < 1 || *number > 64) return bad("a signal must be a number from 1 to 64");
    rule.on_exit_code = std::to_string(128 + *number);
  } else if (kind == "reason") {
    rule.on_reason = pattern;
  } else if (kind == "status") {
    rule.on_status_reason = pattern;
  } else {
    return bad(fmt::format("unknown condition '{}'", kind));
  }
  return rule;
}

// "exit:75,exit:3" → a rule for each: the first that matches decides.
Result<void> add_rules(const std::string& text, std::vector<ExitRule>& rules) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    auto rule = parse_rule(text, std::string_view(text).substr(at, end - at));
    if (!rule) return pass(rule);
    rules.push_back(std::move(*rule));
    at = end + 1;
  }
  return {};
}

Result<std::uint64_t> parse_max_failures(const std::string& text, std::uint64_t total) {
  if (!text.ends_with('%')) {
    auto number = parse_number(text);
    if (!number)
      return fail(ErrorCode::bad_input, fmt::format("--max-failures '{}' is not a number", text),
                  "use a number or a percentage, such as 10 or 5%");
    return std::min(*number, Policy::kNoLimit);
  }
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size() - 1, percent);
  if (error != std::errc{} || end != text.data() + text.size() - 1 || percent < 0 || percent > 100) {
    return fail(ErrorCode::bad_input, fmt::format("--max-failures '{}' is not a percentage", text),
                "use a number or a percentage, such as 10 or 5%");
  }
  return static_cast<std::uint64_t>(static_cast<double>(total) * percent / 100.0);
}

}  // namespace

void add_policy_flags(const Verb& verb, PolicyFlags& flags) {
  flags.fields.add(verb, FlagGroup::policy);
  verb.add_option("--retry-on", flags.retry_on,
                  "Retry only failures that match: exit:75, signal:9, reason:TEXT* or status:TEXT*; a comma between "
                  "conditions means 'or'; repeatable")
      .type_name("RULE")
      .repeatable();
  verb.add_option("--max-failures", flags.max_failures, "Stop when more items than this have failed permanently")
      .type_name("N|P%");
}

Result<void> apply_policy_flags(const PolicyFlags& flags, std::uint64_t total, Submission& job) {
  if (auto applied = flags.fields.apply(job); !applied) return applied;
  Policy& policy = job.policy;
  if (!flags.retry_on.empty()) {
    if (policy.max_tries == 1) {
      return fail(ErrorCode::bad_input, "--retry-on requires --retries", "add --retries N");
    }
    policy.rules.clear();
    for (const std::string& text : flags.retry_on) {
      if (auto added = add_rules(text, policy.rules); !added) return pass(added);
    }
    // No match means retry, as in AWS Batch; whoever names what to retry means: nothing else.
    policy.rules.push_back({.on_status_reason = {}, .on_reason = {}, .on_exit_code = "*", .action = RuleAction::exit});
    policy.rules.push_back(
        {.on_status_reason = "Task failed to start", .on_reason = {}, .on_exit_code = {}, .action = RuleAction::exit});
    job.said.insert("rules");
  }
  if (!flags.max_failures.empty()) {
    if (!job.stream.empty() && flags.max_failures.ends_with('%')) {
      return fail(ErrorCode::bad_input, "--max-failures cannot be a percentage of a stream's messages",
                  "use a number, such as 10");
    }
    auto most = parse_max_failures(flags.max_failures, total);
    if (!most) return pass(most);
    policy.max_failures = *most;
    job.said.insert("max_failures");
  }
  return {};
}

Result<Policy> policy_over(const Policy& base, const PolicyFlags& flags, std::uint64_t total) {
  Submission job;
  job.policy = base;
  if (auto applied = apply_policy_flags(flags, total, job); !applied) return pass(applied);
  return job.policy;
}

}  // namespace drover
