#include "cli/policy_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "base/units.h"

namespace drover {
namespace {

// "exit:75,reason:Out*" → one rule, all of whose conditions must hold.
Result<ExitRule> parse_rule(const std::string& text) {
  ExitRule rule;
  const auto bad = [&](std::string_view why) {
    return fail(
        ErrorCode::bad_input, fmt::format("--retry-on '{}': {}", text, why),
        "write exit:CODE, signal:NUMBER, reason:TEXT or status:TEXT, joined by commas; a trailing * matches the rest");
  };
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string condition = text.substr(at, end - at);
    at = end + 1;
    const std::size_t colon = condition.find(':');
    if (colon == std::string::npos || colon + 1 == condition.size()) return bad("a condition is NAME:PATTERN");
    const std::string kind = condition.substr(0, colon);
    const std::string pattern = condition.substr(colon + 1);
    if (pattern.find('*') < pattern.size() - 1) return bad("a * may only stand at the end");
    if (pattern.size() > 512) return bad("a pattern has at most 512 characters");
    if (kind == "exit") {
      if (pattern.find_first_not_of("0123456789*") != std::string::npos) return bad("an exit code is a number");
      rule.on_exit_code = pattern;
    } else if (kind == "signal") {
      auto number = parse_number(pattern);
      if (!number || *number < 1 || *number > 64) return bad("a signal is a number from 1 to 64");
      rule.on_exit_code = std::to_string(128 + *number);
    } else if (kind == "reason") {
      rule.on_reason = pattern;
    } else if (kind == "status") {
      rule.on_status_reason = pattern;
    } else {
      return bad(fmt::format("'{}' is no condition", kind));
    }
  }
  return rule;
}

Result<std::uint64_t> parse_max_failures(const std::string& text, std::uint64_t total) {
  if (!text.ends_with('%')) {
    auto number = parse_number(text);
    if (!number)
      return fail(ErrorCode::bad_input, fmt::format("--max-failures '{}' is no number", text), "write 10 or 5%");
    return *number;
  }
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size() - 1, percent);
  if (error != std::errc{} || end != text.data() + text.size() - 1 || percent < 0 || percent > 100) {
    return fail(ErrorCode::bad_input, fmt::format("--max-failures '{}' is no percentage", text), "write 10 or 5%");
  }
  return static_cast<std::uint64_t>(static_cast<double>(total) * percent / 100.0);
}

}  // namespace

void add_policy_flags(CLI::App& verb, PolicyFlags& flags) {
  verb.add_option("--timeout", flags.timeout, "Stop an attempt that runs longer: SIGTERM, then SIGKILL")
      ->type_name("TIME");
  verb.add_option("--grace", flags.grace, "Time between SIGTERM and SIGKILL (default: 30s)")->type_name("TIME");
  verb.add_option("--retries", flags.retries, "More tries for an item that failed (default: 0)")
      ->type_name("N")
      ->check(CLI::Range(0, 1000));
  verb.add_option("--retry-delay", flags.retry_delay, "Wait this long before a retry (default: 0s)")->type_name("TIME");
  verb.add_option("--retry-on", flags.retry_on,
                  "Retry only what matches: exit:75, signal:9, reason:TEXT*, joined by commas; may be repeated")
      ->type_name("RULE")
      ->expected(1)
      ->take_all();
  verb.add_option("--max-failures", flags.max_failures, "Stop when more items than this have failed for good")
      ->type_name("N|P%");
}

Result<Policy> make_policy(const PolicyFlags& flags, std::uint64_t total) {
  Policy policy;
  policy.max_tries = flags.retries + 1;
  const std::tuple<const char*, const std::string*, std::int64_t*> times[] = {
      {"--timeout", &flags.timeout, &policy.timeout_ms},
      {"--grace", &flags.grace, &policy.grace_ms},
      {"--retry-delay", &flags.retry_delay, &policy.retry_delay_ms}};
  for (const auto& [flag, text, field] : times) {
    if (text->empty()) continue;
    auto value = parse_duration_ms(*text);
    if (!value) {
      return fail(value.error().code, fmt::format("{}: {}", flag, value.error().message), value.error().next);
    }
    *field = *value;
  }
  if (!flags.timeout.empty() && policy.timeout_ms == 0) {
    return fail(ErrorCode::bad_input, "--timeout 0 leaves no time at all", "write --timeout 10m, or leave it out");
  }
  if (!flags.retry_on.empty()) {
    if (flags.retries == 0) {
      return fail(ErrorCode::bad_input, "--retry-on says what to retry, but not how often", "add --retries N");
    }
    for (const std::string& text : flags.retry_on) {
      auto rule = parse_rule(text);
      if (!rule) return pass(rule);
      policy.rules.push_back(std::move(*rule));
    }
    // No match means retry, as in AWS Batch; whoever names what to retry means: nothing else.
    policy.rules.push_back({.on_status_reason = {}, .on_reason = {}, .on_exit_code = "*", .action = RuleAction::exit});
    policy.rules.push_back(
        {.on_status_reason = "Task failed to start", .on_reason = {}, .on_exit_code = {}, .action = RuleAction::exit});
  }
  if (!flags.max_failures.empty()) {
    auto most = parse_max_failures(flags.max_failures, total);
    if (!most) return pass(most);
    policy.max_failures = *most;
  }
  return policy;
}

Result<void> check_policy(const PolicyFlags& flags) {
  auto policy = make_policy(flags, 0);
  if (!policy) return pass(policy);
  return {};
}

}  // namespace drover
