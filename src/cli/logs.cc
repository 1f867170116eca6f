// drover logs: what items printed, one or all of them; as it comes; or the lines that match a regular expression.
#include <fmt/format.h>
#include <poll.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <deque>
#include <set>

#include "base/units.h"
#include "cli/log_printer.h"
#include "cli/opened_run.h"
#include "cli/print.h"
#include "cli/run_job.h"
#include "cli/server_verbs.h"
#include "engine/system_clock.h"
#include "worker/run_logs.h"

namespace drover {
namespace {

constexpr int kFollowEveryMs = 200;
// Behind what is damaged nothing of a segment can be read.
constexpr std::uint64_t kNoMore = std::uint64_t{1} << 60;
constexpr std::size_t kMostWaiting = std::size_t{4} << 20;

struct LogsFlags {
  CommonFlags common;
  ServerFlags server;
  std::string reference;
  std::uint32_t attempt = 0;
  std::uint64_t tail = 0;
  bool has_tail = false;
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
  return fail(ErrorCode::bad_input, fmt::format("--since '{}' is no time", text),
              "write how long ago (10m, 2h), or a time such as '2026-01-14 10:15' or 2026-01-14T09:15:00Z");
}

/// Which lines are wanted.
struct Wanted {
  bool only_stderr = false;
  std::int64_t since_ms = 0;

  bool has(LogStream stream, std::int64_t time_ms) const {
    if (stream == LogStream::note) return true;
    return (!only_stderr || stream == LogStream::err) && time_ms >= since_ms;
  }
};

/// A frame and whose records are wanted of it; nobody in particular: everybody's of the job.
struct Piece {
  FramePlace place;
  std::optional<LogKey> key;
};

/// Goes through pieces in order and prints the lines in them.
class PiecePrinter {
 public:
  PiecePrinter(LogReader& reader, JobId job, Wanted wanted, LogPrinter& printer)
      : reader_(reader), job_(job), wanted_(wanted), printer_(printer) {}

  /// From now on only the last lines are kept, until print_last().
  void keep_last(std::uint64_t lines) { keep_ = lines; }
  bool print_last() {
    finish();
    keep_.reset();
    bool going_on = true;
    for (const Kept& it : kept_) {
      going_on = going_on && printer_.print(it.key, {it.stream, it.time_ms, it.text});
    }
    kept_.clear();
    return going_on;
  }

  /// False: nobody reads any more.
  Result<bool> print(const Piece& piece) {
    auto raw = reader_.frame(piece.place);
    if (!raw) return pass(raw);
    if (*raw == nullptr) {
      return printer_.print(piece.key.value_or(LogKey{}),
                            {LogStream::note, 0, "[drover: a part of the stored log is damaged here]\n"});
    }
    RecordCursor cursor(**raw);
    while (const auto record = cursor.next()) {
      if (!is_wanted(*record, piece)) continue;
      if (piece.key && !assembler(record->key).add(*record)) return false;
      if (!piece.key && !wait_in_line(*record)) return false;
    }
    return true;
  }

  /// What waits for others that are older.
  bool print_waiting() {
    bool going_on = true;
    while (!waiting_.empty()) going_on = print_oldest() && going_on;
    return going_on;
  }

  /// The lines in it that would be printed.
  Result<std::uint64_t> count(const Piece& piece) {
    auto raw = reader_.frame(piece.place);
    if (!raw) return pass(raw);
    std::uint64_t lines = 0;
    if (*raw == nullptr) return lines;
    RecordCursor cursor(**raw);
    while (const auto record = cursor.next()) {
      if (is_wanted(*record, piece)) lines += static_cast<std::uint64_t>(std::ranges::count(record->bytes, '\n'));
    }
    return lines;
  }

  /// What was never ended with a newline.
  void finish() {
    print_waiting();
    for (auto& [key, blocks] : assemblers_) blocks.finish();
    assemblers_.clear();
  }

 private:
  bool is_wanted(const LogRecord& record, const Piece& piece) const {
    return record.key.job == job_ && (!piece.key || record.key == *piece.key) &&
           wanted_.has(record.stream, record.time_ms);
  }

  LineBlocks& assembler(const LogKey& key) {
    const auto it = assemblers_.find(key);
    if (it != assemblers_.end()) return it->second;
    return assemblers_.emplace(key, LineBlocks([this, key](const LineBlock& block) { return give(key, block); }))
        .first->second;
  }

  bool give(const LogKey& key, const LineBlock& block) {
    if (!keep_) return printer_.print(key, block);
    for (std::string_view rest = block.bytes; !rest.empty();) {
      const std::size_t newline = rest.find('\n');
      const std::size_t size = newline == std::string_view::npos ? rest.size() : newline + 1;
      kept_.push_back({key, block.stream, block.time_ms, std::string(rest.substr(0, size))});
      if (kept_.size() > *keep_) kept_.pop_front();
      rest.remove_prefix(size);
    }
    return true;
  }

  // Frames come nearly in the order of time, and records of many items stand in them item after item. A few megabytes
  // are enough to put them in order.
  bool wait_in_line(const LogRecord& record) {
    waiting_.emplace(record.time_ms, Kept{record.key, record.stream, record.time_ms, std::string(record.bytes)});
    waiting_bytes_ += record.bytes.size();
    return waiting_bytes_ <= kMostWaiting || print_oldest();
  }

  bool print_oldest() {
    const Kept oldest = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    waiting_bytes_ -= oldest.text.size();
    LineBlocks& lines = assembler(oldest.key);
    const bool going_on = lines.add({oldest.key, oldest.stream, oldest.time_ms, oldest.text});
    // Of millions of items only those in the middle of a line are remembered.
    if (lines.empty()) assemblers_.erase(oldest.key);
    return going_on;
  }

  struct Kept {
    LogKey key;
    LogStream stream = LogStream::out;
    std::int64_t time_ms = 0;
    std::string text;
  };

  LogReader& reader_;
  const JobId job_;
  const Wanted wanted_;
  LogPrinter& printer_;
  std::optional<std::uint64_t> keep_;
  std::deque<Kept> kept_;
  std::multimap<std::int64_t, Kept> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::map<LogKey, LineBlocks> assemblers_;
};

/// Prints the pieces, or only their last lines: where those begin is found from the end.
Result<bool> print_pieces(PiecePrinter& printer, const std::vector<Piece>& pieces, const LogsFlags& flags) {
  std::size_t first = 0;
  if (flags.has_tail) {
    // One more than is asked for: the first of them may have begun earlier.
    std::uint64_t lines = 0;
    for (first = pieces.size(); first > 0 && lines <= flags.tail;) {
      auto more = printer.count(pieces[--first]);
      if (!more) return pass(more);
      lines += *more;
    }
    printer.keep_last(flags.tail);
  }
  for (std::size_t i = first; i < pieces.size(); ++i) {
    auto going_on = printer.print(pieces[i]);
    if (!going_on || !*going_on) return going_on;
  }
  return !flags.has_tail || printer.print_last();
}

Result<std::vector<Piece>> pieces_of(RunLogs& logs, const LoggedAttempt& attempt) {
  auto places = logs.reader().frames_of(attempt.extents);
  if (!places) return pass(places);
  std::vector<Piece> pieces;
  for (const FramePlace& place : *places) pieces.push_back({place, attempt.key});
  return pieces;
}

/// All frames there are, in the order in which they were written, from a place on, until `take` says to stop.
Result<bool> each_piece_since(LogReader& reader, FramePlace& from,
                              const std::function<Result<bool>(const Piece&)>& take) {
  for (const std::uint64_t segment : reader.segments()) {
    if (segment < from.segment) continue;
    if (segment > from.segment) from = {segment, 0, 0};
    while (true) {
      auto read = reader.frame_at(segment, from.next);
      if (!read) return pass(read);
      if (const std::optional<FramePlace>& place = *read) {
        from = *place;
      } else {
        auto damaged = reader.is_damaged(segment, from.next);
        if (!damaged) return pass(damaged);
        if (!*damaged) break;
        from = {segment, from.next, kNoMore};
      }
      auto going_on = take({from, std::nullopt});
      if (!going_on || !*going_on) return going_on;
    }
  }
  return true;
}

std::string heading(const LoggedAttempt& attempt) {
  std::string text = fmt::format("==> attempt {}", attempt.key.attempt.value);
  if (attempt.running) {
    text += ", running";
  } else if (!attempt.row) {
    text += ", whose end was never recorded: the run was killed";
  } else {
    text += fmt::format(", {}", to_string(attempt.row->state));
    if (!attempt.row->reason.empty()) text += fmt::format(": {}", attempt.row->reason);
  }
  return text + " <==";
}

void wait_a_moment() {
  std::fflush(stdout);
  ::poll(nullptr, 0, kFollowEveryMs);
}

struct Reading {
  const LogsFlags& flags;
  OpenedRun& run;
  RunLogs& logs;
  Wanted wanted;
  LogPrinter& printer;
};

/// Who looks for what an item printed wants to hear of it that it never ran.
void explain_silence(ItemIndex item, const Attempt& attempt) {
  if (attempt.ending == Ending::exited) return;
  std::fflush(stdout);
  print_notice(fmt::format("item {} has printed nothing: {}", item.value,
                           attempt.reason.empty() ? std::string(to_string(attempt.ending)) : attempt.reason));
}

Result<int> print_item(Reading& reading, ItemIndex item) {
  const LogsFlags& flags = reading.flags;
  if (item.value >= reading.run.job.total) {
    return fail(ErrorCode::not_found, fmt::format("run '{}' has no item {}", reading.run.job.name, item.value),
                fmt::format("its items are 0 to {}", reading.run.job.total == 0 ? 0 : reading.run.job.total - 1));
  }
  // An attempt, and whether it is one that was killed: the next may go by the same number.
  using Which = std::pair<LogKey, bool>;
  std::map<Which, std::size_t> printed;  // pieces of each
  std::set<Which> passed_over;
  std::optional<PiecePrinter> printer;
  std::optional<Which> current;
  std::optional<Attempt> last;
  while (true) {
    const bool held = reading.run.folder.holder().has_value();
    auto attempts = reading.logs.of_item(item);
    if (!attempts) return pass(attempts);
    const auto which = [&](const LoggedAttempt& it) {
      const auto same = std::ranges::count(*attempts, it.key, &LoggedAttempt::key);
      return Which(it.key, same > 1 && !it.row && !it.running);
    };
    if (flags.attempt != 0) {
      std::erase_if(*attempts, [&](const LoggedAttempt& it) { return it.key.attempt.value != flags.attempt; });
      if (attempts->empty() && !flags.follow) {
        return fail(ErrorCode::not_found, fmt::format("item {} has no attempt {}", item.value, flags.attempt),
                    fmt::format("see its attempts: drover items {}:{}", reading.run.folder.name(), item.value));
      }
    }
    // With --tail, the last attempt is the one that is meant.
    if (flags.has_tail && printed.empty()) {
      for (std::size_t i = 0; i + 1 < attempts->size(); ++i) passed_over.insert(which((*attempts)[i]));
    }
    std::erase_if(*attempts, [&](const LoggedAttempt& it) { return passed_over.contains(which(it)); });
    const bool several = attempts->size() > 1 || printed.size() > 1;
    bool all_ended = !attempts->empty();
    for (const LoggedAttempt& attempt : *attempts) {
      if (attempt.row) last = attempt.row;
      all_ended = attempt.row.has_value() && (attempt.row->settled || !held);
      auto pieces = pieces_of(reading.logs, attempt);
      if (!pieces) return pass(pieces);
      std::size_t& done = printed[which(attempt)];
      if (current != which(attempt) && (!pieces->empty() || several)) {
        if (printer) printer->finish();
        printer.emplace(reading.logs.reader(), reading.run.job.id, reading.wanted, reading.printer);
        current = which(attempt);
        if (several && done == 0 && !flags.common.quiet) reading.printer.print_heading(heading(attempt));
      }
      if (pieces->size() <= done) continue;
      pieces->erase(pieces->begin(), pieces->begin() + static_cast<std::ptrdiff_t>(done));
      LogsFlags how = flags;
      how.has_tail = flags.has_tail && done == 0;
      auto going_on = print_pieces(*printer, *pieces, how);
      if (!going_on) return pass(going_on);
      if (!*going_on) return kAllSucceeded;
      done += pieces->size();
    }
    if (!flags.follow || all_ended || !held) break;
    // A line that is not ended, such as a bar that moves: whoever watches wants to see it move.
    if (printer && !flags.common.json && !flags.times) printer->finish();
    wait_a_moment();
  }
  if (printer) printer->finish();
  const bool silent = std::ranges::all_of(printed, [](const auto& it) { return it.second == 0; });
  if (silent && last && !flags.common.quiet && !flags.only_stderr) explain_silence(item, *last);
  return kAllSucceeded;
}

Result<int> print_by_time(Reading& reading) {
  PiecePrinter printer(reading.logs.reader(), reading.run.job.id, reading.wanted, reading.printer);
  FramePlace from;
  bool held = reading.logs.ask_to_show_all();
  LogsFlags how = reading.flags;
  // Whoever follows a run wants what comes, and a little of what was.
  if (how.follow && !how.has_tail) {
    how.has_tail = true;
    how.tail = 10;
  }
  if (how.has_tail) {
    std::vector<Piece> pieces;
    auto gathered = each_piece_since(reading.logs.reader(), from, [&](const Piece& piece) -> Result<bool> {
      pieces.push_back(piece);
      return true;
    });
    if (!gathered) return pass(gathered);
    auto going_on = print_pieces(printer, pieces, how);
    if (!going_on) return pass(going_on);
    if (!*going_on) return kAllSucceeded;
  }
  while (true) {
    auto going_on =
        each_piece_since(reading.logs.reader(), from, [&](const Piece& piece) { return printer.print(piece); });
    if (!going_on) return pass(going_on);
    if (!*going_on || !reading.flags.follow || !held) break;
    printer.print_waiting();
    wait_a_moment();
    held = reading.logs.ask_to_show_all();
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
    auto going_on = pieces ? print_pieces(printer, *pieces, {}) : Result<bool>(pass(pieces));
    printer.finish();
    // What cannot be read is told at the end; the others are shown.
    if (!going_on && !wrong) wrong = going_on.error();
    return !going_on || *going_on;
  });
  if (!read) return pass(read);
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
  auto counts = (*search)->finish();
  if (!counts) return pass(counts);
  if (flags.count && flags.common.json) {
    show("{}\n", boost::json::serialize(boost::json::object{{"lines", counts->lines}, {"attempts", counts->attempts}}));
  } else if (flags.count) {
    show("{} in {}\n", plural(counts->lines, "line"), plural(counts->attempts, "attempt"));
  }
  return counts->lines > 0 ? kAllSucceeded : kSomeDidNot;
}

Result<void> check(const LogsFlags& flags) {
  const auto only_with_grep = [](const char* flag) {
    return fail(ErrorCode::bad_input, fmt::format("{} goes with --grep", flag), "add --grep REGEX, or leave it away");
  };
  if (flags.count && !flags.has_grep) return only_with_grep("--count");
  if (flags.context > 0 && !flags.has_grep) return only_with_grep("--context");
  if (flags.ignore_case && !flags.has_grep) return only_with_grep("--ignore-case");
  if (flags.failed && !flags.has_grep && (flags.follow || flags.has_tail || flags.by_time)) {
    return fail(ErrorCode::bad_input,
                "--failed shows item after item, so it has no tail, no order of time and no end to follow",
                "leave --tail, --by-time and --follow away, or name an item");
  }
  if (flags.has_grep && (flags.follow || flags.has_tail)) {
    return fail(ErrorCode::bad_input, "--grep searches what there is; it does not follow, and has no tail",
                "leave --follow and --tail away, or pipe them: drover logs RUN --follow | grep REGEX");
  }
  return {};
}

/// What only the logs of a run on this machine can do is not left out in silence.
Result<void> check_for_server(const LogsFlags& flags) {
  const char* flag = !flags.since.empty()                  ? "--since"
                     : flags.times                         ? "--times"
                     : flags.by_time                       ? "--by-time"
                     : flags.count                         ? "--count"
                     : flags.context > 0                   ? "--context"
                     : flags.only_stderr && flags.has_grep ? "--stderr with --grep"
                                                           : nullptr;
  if (flag == nullptr) return {};
  return fail(ErrorCode::bad_input,
              fmt::format("{} is for the logs of a run on this machine, not of a server's job", flag), "leave it away");
}

Result<int> logs(const LogsFlags& flags) {
  if (auto valid = check(flags); !valid) return pass(valid);
  if (names_server(flags.server)) {
    if (auto valid = check_for_server(flags); !valid) return pass(valid);
    return server_logs(flags.common, flags.server,
                       {.reference = flags.reference,
                        .attempt = flags.attempt,
                        .has_tail = flags.has_tail,
                        .tail = flags.tail,
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
    return fail(ErrorCode::bad_input, "--failed chooses among all items, and one is named", "leave one of them away");
  }
  if (!one_item && flags.attempt != 0 && !flags.has_grep) {
    return fail(ErrorCode::bad_input, "--attempt goes with one item, or with --grep",
                fmt::format("name the item: drover logs {}:0 --attempt {}", run->folder.name(), flags.attempt));
  }
  RunLogs run_logs(run->folder, *run->reader, run->job);
  LogPrinter printer({.json = flags.common.json, .times = flags.times, .items = !one_item});
  Reading reading{flags, *run, run_logs, {flags.only_stderr, *since}, printer};
  auto status = flags.has_grep                                    ? search(reading)
                : one_item                                        ? print_item(reading, ItemIndex{run->reference.item})
                : flags.by_time || flags.follow || flags.has_tail ? print_by_time(reading)
                                                                  : print_by_item(reading);
  std::fflush(stdout);
  return status;
}

}  // namespace

void add_logs(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<LogsFlags>();
  CLI::App* verb = app.add_subcommand("logs", "Show what items printed, follow it, or search it");
  add_common_flags(*verb, flags->common);
  add_server_flag(*verb, flags->server);
  verb->add_option("run", flags->reference, "The run, or RUN:INDEX for one item (default: the newest run)")
      ->type_name("RUN");
  verb->add_option("--attempt", flags->attempt, "Only this attempt of the item")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  CLI::Option* tail = verb->add_option("--tail,-n", flags->tail, "Only the last lines")->type_name("N");
  verb->add_flag("--follow,-f", flags->follow, "Go on as more is printed, until the item or the run has ended");
  verb->add_flag("--stderr", flags->only_stderr, "Only what was printed to standard error");
  verb->add_option("--since", flags->since, "Only what was printed after this time, or so long ago")->type_name("TIME");
  verb->add_flag("--times", flags->times, "Show when each line was printed");
  verb->add_flag("--by-time", flags->by_time, "All items together, in the order of time (default: item after item)");
  CLI::Option* grep =
      verb->add_option("--grep,-g", flags->grep, "Only lines that match, as ITEM:LINE:TEXT")->type_name("REGEX");
  verb->add_flag("--ignore-case,-i", flags->ignore_case, "With --grep: capital or small letters are the same");
  verb->add_flag("--count,-c", flags->count, "With --grep: only how many lines match");
  verb->add_option("--context,-C", flags->context, "With --grep: lines to show before and after")->type_name("N");
  verb->add_flag("--failed", flags->failed, "Only items that failed");
  verb->footer(
      "Examples:\n"
      "  drover logs nightly:17\n"
      "  drover logs nightly:17 --follow\n"
      "  drover logs nightly --grep 'CUDA error|out of memory' --failed\n"
      "  drover logs nightly --grep '^loss=nan' --count\n"
      "  drover logs nightly --stderr --since 10m --times");
  verb->callback([flags, tail, grep, &invocation] {
    flags->has_tail = tail->count() > 0;
    flags->has_grep = grep->count() > 0;
    auto done = logs(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
