#include "logs/log_search.h"

#include <re2/re2.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/text.h"
#include "logs/lines.h"
#include "logs/log_reader.h"

namespace drover {
namespace {

// Neighbours share frames, so they go to one thread together.
constexpr std::uint64_t kBatchBytes = std::uint64_t{2} << 20;
constexpr std::size_t kBatchTargets = 512;
// A batch whose turn has not come keeps so much of what it found; then it waits for its turn.
constexpr std::size_t kMostKept = std::size_t{4} << 20;

struct KeptHit {
  SearchHit hit;
  std::size_t size = 0;  // of its text in the batch's bytes
};

struct Batch {
  std::uint64_t number = 0;
  std::vector<SearchTarget> targets;
};

std::size_t count_lines(std::string_view bytes) {
  return static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n'));
}

}  // namespace

struct LogSearch::State {
  State(std::string log_folder, SearchOptions how, Take to)
      : folder(std::move(log_folder)), options(std::move(how)), take(std::move(to)) {}

  const std::string folder;
  const SearchOptions options;
  const Take take;
  std::unique_ptr<RE2> pattern;

  Batch filling;  // the caller's thread alone
  std::uint64_t filling_bytes = 0;
  std::uint64_t next_number = 0;

  std::mutex mutex;  // guards what follows, and calls of `take`
  std::condition_variable changed;
  std::deque<Batch> queue;
  std::uint64_t turn = 0;  // the batch whose hits may go out
  bool closing = false;
  bool stopped = false;
  std::optional<Error> failed;
  SearchCounts counts;
  std::vector<std::thread> threads;

  void run();
  bool hand_over();
};

namespace {

/// Whether it asks for the ends of the text, which is the line, or sets what ^ and $ mean itself. Then lines have to be
/// looked at one by one.
bool speaks_of_the_whole_text(std::string_view pattern) {
  for (std::size_t at = pattern.find("(?"); at != std::string_view::npos; at = pattern.find("(?", at + 2)) {
    const std::string_view rest = pattern.substr(at + 2);
    if (!rest.starts_with(':') && !rest.starts_with('P') && !rest.starts_with('<')) return true;
  }
  return pattern.find("\\A") != std::string_view::npos || pattern.find("\\z") != std::string_view::npos;
}

/// Looks through one attempt.
class AttemptSearch {
 public:
  AttemptSearch(const RE2& pattern, const SearchOptions& options, const LogKey& key,
                std::function<bool(const SearchHit&)> emit)
      : pattern_(pattern),
        options_(options),
        key_(key),
        emit_(std::move(emit)),
        line_by_line_(speaks_of_the_whole_text(options.pattern)) {}

  std::uint64_t matches() const { return matches_; }

  bool look(const LineBlock& block) {
    const bool wanted = (!options_.only_stderr || block.stream == LogStream::err) &&
                        block.time_ms >= options_.since_ms && block.stream != LogStream::note;
    return options_.context == 0 && !line_by_line_ ? look_fast(block, wanted) : look_with_context(block, wanted);
  }

 private:
  bool matches(std::string_view line) const { return RE2::PartialMatch({line.data(), line.size()}, pattern_); }

  /// The whole block at once: most of it has no match, and lines are told apart only where there is one.
  bool look_fast(const LineBlock& block, bool wanted) {
    std::string_view rest = block.bytes;
    while (wanted && !rest.empty()) {
      re2::StringPiece found;
      if (!pattern_.Match({rest.data(), rest.size()}, 0, rest.size(), RE2::UNANCHORED, &found, 1)) break;
      // A match may reach over the end of a line; so the line that it begins in is asked alone.
      const auto at = std::min(static_cast<std::size_t>(found.data() - rest.data()), rest.size() - 1);
      const std::size_t before = at == 0 ? std::string_view::npos : rest.rfind('\n', at - 1);
      const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
      const std::size_t newline = rest.find('\n', begin);
      const std::size_t end = newline == std::string_view::npos ? rest.size() : newline;
      line_ += count_lines(rest.substr(0, begin));
      if (matches(rest.substr(begin, end - begin)) && !hit(block, line_ + 1, rest.substr(begin, end - begin), true)) {
        return false;
      }
      line_ += 1;
      rest.remove_prefix(std::min(rest.size(), end + 1));
    }
    line_ += count_lines(rest) + (rest.empty() || rest.ends_with('\n') ? 0 : 1);
    return true;
  }

  bool hit(const LineBlock& block, std::uint64_t number, std::string_view text, bool is_match) {
    if (is_match) ++matches_;
    if (options_.only_count) return true;
    const bool gap = options_.context > 0 && last_shown_ > 0 && number > last_shown_ + 1;
    last_shown_ = number;
    return emit_({key_, block.stream, block.time_ms, number, is_match, gap, text});
  }

  bool look_with_context(const LineBlock& block, bool wanted) {
    for (std::string_view rest = block.bytes; !rest.empty();) {
      const std::size_t newline = rest.find('\n');
      const std::string_view line = rest.substr(0, newline);
      rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + 1);
      ++line_;
      if (wanted && matches(line)) {
        for (const auto& [number, before, text] : before_) {
          const LineBlock of{before.stream, before.time_ms, {}};
          if (number > last_shown_ && !hit(of, number, text, false)) return false;
        }
        before_.clear();
        if (!hit(block, line_, line, true)) return false;
        after_left_ = options_.context;
      } else if (after_left_ > 0) {
        --after_left_;
        if (!hit(block, line_, line, false)) return false;
      } else {
        before_.push_back({line_, {block.stream, block.time_ms, {}}, std::string(line)});
        if (before_.size() > options_.context) before_.pop_front();
      }
    }
    return true;
  }

  struct Before {
    std::uint64_t number;
    LineBlock of;
    std::string text;
  };

  const RE2& pattern_;
  const SearchOptions& options_;
  const LogKey key_;
  const std::function<bool(const SearchHit&)> emit_;
  const bool line_by_line_;
  std::uint64_t line_ = 0;
  std::uint64_t matches_ = 0;
  std::uint64_t last_shown_ = 0;
  std::size_t after_left_ = 0;
  std::deque<Before> before_;
};

}  // namespace

void LogSearch::State::run() {
  LogReader reader(folder);
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return !queue.empty() || closing || stopped; });
    if (stopped || queue.empty()) return;
    const Batch batch = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    changed.notify_all();

    std::vector<KeptHit> kept;
    std::string texts;
    SearchCounts found;
    // What was kept goes out, in order; only when it is this batch's turn.
    const auto let_out = [&] {
      std::size_t at = 0;
      for (KeptHit& each : kept) {
        each.hit.text = std::string_view(texts).substr(at, each.size);
        at += each.size;
        if (!stopped && !take(each.hit)) stopped = true;
      }
      kept.clear();
      texts.clear();
    };
    const auto keep = [&](const SearchHit& hit) {
      kept.push_back({hit, hit.text.size()});
      texts += hit.text;
      if (texts.size() + kept.size() * sizeof(KeptHit) < kMostKept) return true;
      std::unique_lock waiting(mutex);
      changed.wait(waiting, [&] { return turn == batch.number || stopped; });
      let_out();
      return !stopped;
    };
    std::optional<Error> wrong;
    for (const SearchTarget& target : batch.targets) {
      AttemptSearch search(*pattern, options, target.key, keep);
      LineBlocks blocks([&](const LineBlock& block) { return search.look(block); });
      auto read =
          reader.each_record(target.extents, target.key, [&](const LogRecord& record) { return blocks.add(record); });
      blocks.finish();
      if (!read && !wrong) wrong = read.error();
      found.lines += search.matches();
      found.attempts += search.matches() > 0 ? 1 : 0;
    }

    lock.lock();
    changed.wait(lock, [&] { return turn == batch.number || stopped; });
    let_out();
    counts.lines += found.lines;
    counts.attempts += found.attempts;
    if (wrong && !failed) failed = wrong;
    ++turn;
    changed.notify_all();
  }
}

bool LogSearch::State::hand_over() {
  if (filling.targets.empty()) return true;
  filling.number = next_number++;
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return queue.size() < options.threads || stopped; });
  if (stopped) return false;
  queue.push_back(std::exchange(filling, {}));
  filling_bytes = 0;
  lock.unlock();
  changed.notify_all();
  return true;
}

LogSearch::LogSearch(std::unique_ptr<State> state) : state_(std::move(state)) {}

LogSearch::~LogSearch() {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->closing = true;
    state_->stopped = true;
  }
  state_->changed.notify_all();
  for (std::thread& thread : state_->threads) {
    if (thread.joinable()) thread.join();
  }
}

Result<std::unique_ptr<LogSearch>> LogSearch::start(const std::string& folder, SearchOptions options, Take take) {
  RE2::Options how(RE2::Quiet);
  how.set_case_sensitive(!options.ignore_case);
  how.set_log_errors(false);
  // Lines begin and end where they do, also when many are looked at together.
  auto pattern = std::make_unique<RE2>(concat("(?m)", options.pattern), how);
  if (const RE2 alone(options.pattern, how); !alone.ok() || !pattern->ok()) {
    return fail(ErrorCode::bad_input, concat("'", options.pattern, "' is no regular expression: ", alone.error()),
                "see https://github.com/google/re2/wiki/Syntax, or put \\Q and \\E around a plain text");
  }
  options.threads = std::max<std::size_t>(1, options.threads);
  auto state = std::make_unique<State>(folder, std::move(options), std::move(take));
  state->pattern = std::move(pattern);
  for (std::size_t i = 0; i < state->options.threads; ++i) {
    state->threads.emplace_back([it = state.get()] { it->run(); });
  }
  return std::unique_ptr<LogSearch>(new LogSearch(std::move(state)));
}

bool LogSearch::add(SearchTarget target) {
  state_->filling_bytes += target.bytes;
  state_->filling.targets.push_back(std::move(target));
  if (state_->filling_bytes < kBatchBytes && state_->filling.targets.size() < kBatchTargets) return true;
  return state_->hand_over();
}

Result<SearchCounts> LogSearch::finish() {
  state_->hand_over();
  {
    const std::scoped_lock lock(state_->mutex);
    state_->closing = true;
  }
  state_->changed.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
  if (const auto& failed = state_->failed) return std::unexpected(*failed);
  return state_->counts;
}

}  // namespace drover
