#include "cli/item_log.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "cli/print.h"

namespace drover {
namespace {

constexpr int kFollowEveryMs = 200;

std::string heading(const LoggedAttempt& attempt) {
  std::string text = fmt::format("==> attempt {}", attempt.key.attempt.value);
  if (attempt.running) {
    text += ", running";
  } else if (!attempt.row) {
    text += ", end not recorded: the run was killed";
  } else {
    text += fmt::format(", {}", to_string(attempt.row->state));
    if (!attempt.row->reason.empty()) text += fmt::format(": {}", attempt.row->reason);
  }
  return text + " <==";
}

/// Who looks for what an item printed wants to hear of it that it never ran.
void explain_silence(ItemIndex item, const Attempt& attempt) {
  if (attempt.ending == Ending::exited) return;
  flush_output();
  print_notice(fmt::format("item {} has printed nothing: {}", item.value,
                           attempt.reason.empty() ? std::string(to_string(attempt.ending)) : attempt.reason));
}

/// Looks again and again at the attempts there are, and prints what is new of them.
class ItemLog {
 public:
  ItemLog(const ItemLogWish& wish, const OpenedRun& run, RunLogs& logs, LogPrinter& printer)
      : wish_(wish), run_(run), logs_(logs), printer_(printer) {}

  enum class State : std::uint8_t { more_may_come, complete, unread };  // unread: nobody reads any more
  Result<State> look();
  void finish_line() {
    if (pieces_) pieces_->finish();
  }
  void finish();

 private:
  /// An attempt, and whether it is one that was killed: the next may go by the same number.
  using Which = std::pair<LogKey, bool>;
  using Attempts = std::vector<LoggedAttempt>;

  static Which which(const LoggedAttempt& attempt, const Attempts& all) {
    const auto same = std::ranges::count(all, attempt.key, &LoggedAttempt::key);
    return {attempt.key, same > 1 && !attempt.row && !attempt.running};
  }
  Result<void> keep_wanted(Attempts& attempts);
  PiecePrinter& turn_to(const LoggedAttempt& attempt, Which it, bool is_one_of_several);
  Result<bool> print_new(const LoggedAttempt& attempt, Which it, bool is_one_of_several);

  const ItemLogWish& wish_;
  const OpenedRun& run_;
  RunLogs& logs_;
  LogPrinter& printer_;
  std::map<Which, std::size_t> printed_;  // pieces of each
  std::set<Which> passed_over_;
  std::optional<PiecePrinter> pieces_;  // those of the attempt that is printed now
  std::optional<Which> current_;
  std::optional<Attempt> last_;
};

Result<ItemLog::State> ItemLog::look() {
  const bool is_held = run_.folder.holder().has_value();
  auto attempts = logs_.of_item(wish_.item);
  if (!attempts) return pass(attempts);
  const Attempts all = *attempts;
  if (auto kept = keep_wanted(*attempts); !kept) return pass(kept);
  const bool are_several = attempts->size() > 1 || printed_.size() > 1;
  bool is_settled = !attempts->empty();
  for (const LoggedAttempt& attempt : *attempts) {
    if (attempt.row) last_ = attempt.row;
    is_settled = attempt.row.has_value() && (attempt.row->settled || !is_held);
    auto going_on = print_new(attempt, which(attempt, all), are_several);
    if (!going_on) return pass(going_on);
    if (!*going_on) return State::unread;
  }
  return is_settled || !is_held ? State::complete : State::more_may_come;
}

Result<void> ItemLog::keep_wanted(Attempts& attempts) {
  if (wish_.attempt != 0) {
    std::erase_if(attempts, [&](const LoggedAttempt& it) { return it.key.attempt.value != wish_.attempt; });
    if (attempts.empty() && !wish_.follow) {
      return fail(ErrorCode::not_found, fmt::format("item {} has no attempt {}", wish_.item.value, wish_.attempt),
                  fmt::format("list its attempts: drover items {}:{}", run_.folder.name(), wish_.item.value));
    }
  }
  const Attempts all = attempts;
  // With a tail, the last attempt is the one that is meant.
  if (wish_.tail && printed_.empty()) {
    for (std::size_t i = 0; i + 1 < all.size(); ++i) passed_over_.insert(which(all[i], all));
  }
  std::erase_if(attempts, [&](const LoggedAttempt& it) { return passed_over_.contains(which(it, all)); });
  return {};
}

PiecePrinter& ItemLog::turn_to(const LoggedAttempt& attempt, Which it, bool is_one_of_several) {
  finish_line();
  current_ = it;
  if (is_one_of_several && printed_[it] == 0 && !wish_.quiet) printer_.print_heading(heading(attempt));
  return pieces_.emplace(logs_.reader(), run_.job.id, wish_.lines, printer_);
}

Result<bool> ItemLog::print_new(const LoggedAttempt& attempt, Which it, bool is_one_of_several) {
  auto pieces = pieces_of(logs_, attempt);
  if (!pieces) return pass(pieces);
  std::size_t& done = printed_[it];
  if (pieces->empty() && !is_one_of_several) return true;
  PiecePrinter& printer = pieces_ && current_ == it ? *pieces_ : turn_to(attempt, it, is_one_of_several);
  if (pieces->size() <= done) return true;
  const bool is_first_look = done == 0;
  pieces->erase(pieces->begin(), pieces->begin() + static_cast<std::ptrdiff_t>(done));
  done += pieces->size();
  return printer.print(*pieces, is_first_look ? wish_.tail : std::nullopt);
}

void ItemLog::finish() {
  finish_line();
  const bool is_silent = std::ranges::all_of(printed_, [](const auto& it) { return it.second == 0; });
  if (is_silent && last_ && !wish_.quiet && !wish_.lines.only_stderr) explain_silence(wish_.item, *last_);
}

}  // namespace

void wait_for_more_log() {
  flush_output();
  ::poll(nullptr, 0, kFollowEveryMs);
}

Result<void> check_item(const OpenedRun& run, ItemIndex item) {
  if (item.value < run.job.total) return {};
  return fail(ErrorCode::not_found, fmt::format("run '{}' has no item {}", run.job.name, item.value),
              fmt::format("valid indexes are 0 to {}", run.job.total == 0 ? 0 : run.job.total - 1));
}

Result<void> print_item_log(const ItemLogWish& wish, const OpenedRun& run, RunLogs& logs, LogPrinter& printer) {
  if (auto known = check_item(run, wish.item); !known) return known;
  ItemLog log(wish, run, logs, printer);
  while (true) {
    auto state = log.look();
    if (!state) return pass(state);
    if (*state == ItemLog::State::unread) return {};
    if (!wish.follow || *state == ItemLog::State::complete) break;
    // A line that is not ended, such as a bar that moves: whoever watches wants to see it move.
    if (!wish.only_whole_lines) log.finish_line();
    wait_for_more_log();
  }
  log.finish();
  return {};
}

}  // namespace drover
