// drover logs: what items printed, one or all of them; as it comes; or the lines that match a regular expression.
#include <fmt/format.h>
#include <time.h>

#include <boost/json.hpp>

#include "base/units.h"
#include "cli/item_log.h"
#include "cli/log_pieces.h"
#include "cli/log_printer.h"
#include "cli/opened_run.h"
#include "cli/print.h"
#include "cli/raw_log.h"
#include "cli/run_job.h"
#include "cli/server_job.h"
#include "cli/server_verbs.h"
#include "engine/system_clock.h"
#include "worker/run_logs.h"

namespace drover {
namespace {

// Whoever follows a run wants what comes, and a little of what was.
constexpr std::uint64_t kTailToFollow = 10;

struct LogsFlags {
  CommonFlags common;
  ServerFlags server;
  std::string reference;
  std::uint32_t attempt = 0;
  std::optional<std::uint64_t> tail;
  bool follow = false;
  bool only_stderr = false;
  std::string since;
  bool times = false;
  bool by_time = false;
  std::string grep;
  bool has_grep = false;
  bool ignore_case = false;
  bool count = false;
  std::size_t context = 0;
  bool failed = false;
  bool raw = false;
};

/// "10m" is ten minutes ago; else a point in time, here or, with a Z, in UTC.
Result<std::int64_t> parse_since(const std::string& text) {
  if (text.empty()) return 0;
  if (const auto ago_ms = parse_duration_ms(text)) return SystemWallClock().epoch_ms() - *ago_ms;
  for (const char* format :
       {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d"}) {
    tm when{};
    when.tm_isdst = -1;
    const char* end = ::strptime(text.c_str(), format, &when);
    if (end == nullptr) continue;
    if (*end == '\0') return std::int64_t{::mktime(&when)} * 1000;
    if (std::string_view(end) == "Z") return std::int64_t{::timegm(&when)} * 1000;
  }
  return fail(ErrorCode::bad_input, fmt::format("--since '{}' is not a valid time", text),
              "use an age (10m, 2h) or a time such as '2026-01-14 10:15' or 2026-01-14T09:15:00Z");
}

struct Reading {
  const LogsFlags& flags;
  OpenedRun& run;
  RunLogs& logs;
  WantedLines wanted;
  LogPrinter& printer;
};

Result<int> print_item(Reading& reading) {
  const LogsFlags& flags = reading.flags;
  auto printed = print_item_log({.item = ItemIndex{reading.run.reference.item},
                                 .attempt = flags.attempt,
                                 .lines = reading.wanted,
                                 .tail = flags.tail,
                                 .follow = flags.follow,
                                 .quiet = flags.common.quiet,
                                 .only_whole_lines = flags.common.json || flags.times},
                                reading.run, reading.logs, reading.printer);
  if (!printed) return pass(printed);
  return kAllSucceeded;
}

Result<int> print_by_time(Reading& reading) {
  const bool follow = reading.flags.follow;
  PiecePrinter printer(reading.logs.reader(), reading.run.job.id, reading.wanted, reading.printer);
  FramePlace from;
  bool is_held = reading.logs.ask_to_show_all();
  if (follow || reading.flags.tail) {
    std::vector<LogPiece> pieces;
    auto gathered = each_piece_since(reading.logs.reader(), from, [&](const LogPiece& piece) -> Result<bool> {
      pieces.push_back(piece);
      return true;
    });
    if (!gathered) return pass(gathered);
    auto going_on = printer.print(pieces, reading.flags.tail.value_or(kTailToFollow));
    if (!going_on) return pass(going_on);
    if (!*going_on) return kAllSucceeded;
  }
  while (true) {
    auto going_on =
        each_piece_since(reading.logs.reader(), from, [&](const LogPiece& piece) { return printer.print(piece); });
    if (!going_on) return pass(going_on);
    if (!*going_on || !follow || !is_held) break;
    printer.print_waiting();
    wait_for_more_log();
    is_held = reading.logs.ask_to_show_all();
  }
  printer.finish();
  return kAllSucceeded;
}

Result<int> print_by_item(Reading& reading) {
  std::optional<Error> wrong;
  const auto which = reading.flags.failed ? RunLogs::Which::failed : RunLogs::Which::all;
  auto read = reading.logs.each(which, [&](const LoggedAttempt& attempt) {
    PiecePrinter printer(reading.logs.reader(), reading.run.job.id, reading.wanted, reading.printer);
    auto pieces = pieces_of(reading.logs, attempt);
    auto going_on = pieces ? printer.print(*pieces) : Result<bool>(pass(pieces));
    printer.finish();
    // What cannot be read is told at the end; the others are shown.
    if (!going_on && !wrong) wrong = going_on.error();
    return !going_on || *going_on;
  });
  if (!read) return pass(read);
  if (wrong) return std::unexpected(*wrong);
  return kAllSucceeded;
}

/// The attempt that an item ended with, or the one that is asked for.
Result<int> print_raw(Reading& reading) {
  const LogsFlags& flags = reading.flags;
  std::optional<Error> wrong;
  const auto print = [&](const LoggedAttempt& attempt) {
    auto going_on = print_raw_log(reading.logs.reader(), attempt.key, attempt.extents);
    if (!going_on && !wrong) wrong = going_on.error();
    return !going_on || *going_on;
  };
  if (reading.run.reference.has_item) {
    const ItemIndex item{reading.run.reference.item};
    if (auto known = check_item(reading.run, item); !known) return pass(known);
    auto attempts = reading.logs.of_item(item);
    if (!attempts) return pass(attempts);
    if (flags.attempt != 0) {
      std::erase_if(*attempts, [&](const LoggedAttempt& it) { return it.key.attempt.value != flags.attempt; });
      if (attempts->empty()) {
        return fail(ErrorCode::not_found, fmt::format("item {} has no attempt {}", item.value, flags.attempt),
                    fmt::format("list its attempts: drover items {}:{}", reading.run.folder.name(), item.value));
      }
    }
    if (!attempts->empty()) print(attempts->back());
  } else {
    auto read =
        reading.logs.each(flags.failed ? RunLogs::Which::failed : RunLogs::Which::all, [&](const LoggedAttempt& it) {
          const bool is_last = it.row && it.row->settled;
          return !is_last || print(it);
        });
    if (!read) return pass(read);
  }
  if (wrong) return std::unexpected(*wrong);
  return kAllSucceeded;
}

Result<int> search(Reading& reading) {
  const LogsFlags& flags = reading.flags;
  auto search = LogSearch::start(reading.run.folder.logs(),
                                 {.pattern = flags.grep,
                                  .ignore_case = flags.ignore_case,
                                  .only_stderr = flags.only_stderr,
                                  .since_ms = reading.wanted.since_ms,
                                  .context = flags.context,
                                  .only_count = flags.count,
                                  .threads = default_slots()},
                                 [&](const SearchHit& hit) { return reading.printer.print(hit); });
  if (!search) return pass(search);
  const auto add = [&](LoggedAttempt attempt) {
    if (flags.attempt != 0 && attempt.key.attempt.value != flags.attempt) return true;
    return (*search)->add({attempt.key, std::move(attempt.extents), attempt.bytes});
  };
  if (reading.run.reference.has_item) {
    auto attempts = reading.logs.of_item(ItemIndex{reading.run.reference.item});
    if (!attempts) return pass(attempts);
    for (LoggedAttempt& attempt : *attempts) add(std::move(attempt));
  } else {
    auto read = reading.logs.each(flags.failed ? RunLogs::Which::failed : RunLogs::Which::all, add);
    if (!read) return pass(read);
  }
  const SearchCounts counts = (*search)->finish();
  if (flags.count && flags.common.json) {
    show("{}\n", boost::json::serialize(boost::json::object{{"lines", counts.lines}, {"attempts", counts.attempts}}));
  } else if (flags.count) {
    show("{} in {}\n", plural(counts.lines, "line"), plural(counts.attempts, "attempt"));
  }
  if (!counts.unsearched.empty()) {
    reading.printer.print_problem(counts.incomplete());
    return std::unexpected(counts.incomplete());
  }
  return counts.lines > 0 ? kAllSucceeded : kSomeDidNot;
}

Result<void> check(const LogsFlags& flags) {
  const auto only_with_grep = [](const char* flag) {
    return fail(ErrorCode::bad_input, fmt::format("{} requires --grep", flag), "add --grep REGEX, or omit the flag");
  };
  if (flags.raw && (flags.common.json || flags.times || flags.has_grep || flags.follow || flags.tail || flags.by_time ||
                    flags.only_stderr || !flags.since.empty())) {
    return fail(ErrorCode::bad_input,
                "--raw prints the unchanged output, so it can only be combined with --attempt and --failed",
                "omit --raw, or the other flags");
  }
  if (flags.count && !flags.has_grep) return only_with_grep("--count");
  if (flags.context > 0 && !flags.has_grep) return only_with_grep("--context");
  if (flags.ignore_case && !flags.has_grep) return only_with_grep("--ignore-case");
  if (flags.failed && !flags.has_grep && (flags.follow || flags.tail || flags.by_time)) {
    return fail(ErrorCode::bad_input,
                "--failed prints one item after another, so it cannot be combined with --tail, --by-time or --follow",
                "omit --tail, --by-time and --follow, or name an item instead of --failed");
  }
  if (flags.has_grep && (flags.follow || flags.tail)) {
    return fail(ErrorCode::bad_input, "--grep searches stored output, so it cannot be combined with --follow or --tail",
                "omit --follow and --tail, or use a pipe: drover logs RUN --follow | grep REGEX");
  }
  return {};
}

/// What only the logs of a run on this machine can do is not left out in silence.
Result<void> check_for_server(const LogsFlags& flags) {
  const char* flag = !flags.since.empty()                  ? "--since"
                     : flags.times                         ? "--times"
                     : flags.by_time                       ? "--by-time"
                     : flags.raw                           ? "--raw"
                     : flags.count                         ? "--count"
                     : flags.context > 0                   ? "--context"
                     : flags.only_stderr && flags.has_grep ? "--stderr with --grep"
                                                           : nullptr;
  if (flag == nullptr) return {};
  return fail(
      ErrorCode::bad_input,
      fmt::format("{} works only with the logs of a run on this machine, not with those of a job on a server", flag),
      "omit it");
}

Result<int> logs(const LogsFlags& flags) {
  if (auto valid = check(flags); !valid) return pass(valid);
  auto site = site_of(flags.common, flags.server, flags.reference);
  if (!site) return pass(site);
  if (*site == Site::server) {
    if (auto valid = check_for_server(flags); !valid) return pass(valid);
    return server_logs(flags.common, flags.server,
                       {.reference = flags.reference,
                        .attempt = flags.attempt,
                        .has_tail = flags.tail.has_value(),
                        .tail = flags.tail.value_or(0),
                        .follow = flags.follow,
                        .only_stderr = flags.only_stderr,
                        .grep = flags.grep,
                        .ignore_case = flags.ignore_case,
                        .failed = flags.failed});
  }
  auto since = parse_since(flags.since);
  if (!since) return pass(since);
  auto run = open_run(flags.common, flags.reference);
  if (!run) return pass(run);
  const bool one_item = run->reference.has_item;
  if (one_item && flags.failed) {
    return fail(ErrorCode::bad_input, "--failed cannot be combined with an item", "omit --failed or the item");
  }
  if (!one_item && flags.attempt != 0 && !flags.has_grep) {
    return fail(ErrorCode::bad_input, "--attempt requires an item or --grep",
                fmt::format("name the item: drover logs {}:0 --attempt {}", run->folder.name(), flags.attempt));
  }
  RunLogs run_logs(run->folder, *run->reader, run->job);
  LogPrinter printer({.json = flags.common.json, .times = flags.times, .items = !one_item});
  Reading reading{flags, *run, run_logs, {flags.only_stderr, *since}, printer};
  auto status = flags.has_grep                                ? search(reading)
                : flags.raw                                   ? print_raw(reading)
                : one_item                                    ? print_item(reading)
                : flags.by_time || flags.follow || flags.tail ? print_by_time(reading)
                                                              : print_by_item(reading);
  return status;
}

}  // namespace

void add_logs(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<LogsFlags>();
  Verb verb = app.add_subcommand("logs", "Show, follow or search the output of items");
  add_common_flags(verb, flags->common);
  add_place_flags(verb, flags->server);
  verb.add_option("run", flags->reference, "Run, or RUN:INDEX for one item (default: the newest run)").type_name("RUN");
  verb.add_option("--attempt", flags->attempt, "Show only this attempt of the item").type_name("N").positive();
  verb.add_option("--tail,-n", flags->tail, "Show only the last N lines").type_name("N");
  verb.add_flag("--follow,-f", flags->follow, "Keep printing new output until the item or the run has ended");
  verb.add_flag("--stderr", flags->only_stderr, "Show only standard error");
  verb.add_option("--since", flags->since, "Show only output printed since this time, or within the last TIME")
      .type_name("TIME");
  verb.add_flag("--times", flags->times, "Show the time of each line");
  verb.add_flag("--by-time", flags->by_time, "Show all items together, ordered by time (default: item by item)");
  const Option grep =
      verb.add_option("--grep,-g", flags->grep, "Show only matching lines, as ITEM:LINE:TEXT").type_name("REGEX");
  verb.add_flag("--ignore-case,-i", flags->ignore_case, "With --grep: ignore case");
  verb.add_flag("--count,-c", flags->count, "With --grep: print only the number of matching lines");
  verb.add_option("--context,-C", flags->context, "With --grep: lines to show before and after each match")
      .type_name("N");
  verb.add_flag(
      "--raw", flags->raw,
      "Print only the unmodified output of each item's last attempt: its standard output to standard output, its "
      "standard error to standard error");
  verb.add_flag("--failed", flags->failed, "Show only items that failed");
  verb.footer(
      "Examples:\n"
      "  drover logs nightly:17\n"
      "  drover logs nightly:17 --follow\n"
      "  drover logs nightly --raw > results.txt\n"
      "  drover logs nightly --grep 'CUDA error|out of memory' --failed\n"
      "  drover logs nightly --grep '^loss=nan' --count\n"
      "  drover logs nightly --stderr --since 10m --times");
  verb.callback([flags, grep, &invocation] {
    flags->has_grep = grep.count() > 0;
    auto done = logs(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
