#include "logs/log_search.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"
#include "logs/attempt_search.h"
#include "logs/log_reader.h"
#include "logs/stepwise_search.h"

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

}  // namespace

struct LogSearch::State {
  State(std::string log_folder, SearchOptions how, Take to)
      : folder(std::move(log_folder)), options(std::move(how)), take(std::move(to)) {}

  const std::string folder;
  const SearchOptions options;
  const Take take;
  std::shared_ptr<const SearchPattern> pattern;

  Batch filling;  // the caller's thread alone
  std::uint64_t filling_bytes = 0;
  std::uint64_t next_number = 0;

  std::mutex mutex;  // guards what follows, and calls of `take`
  std::condition_variable changed;
  std::deque<Batch> queue;
  std::uint64_t turn = 0;  // the batch whose hits may go out
  bool closing = false;
  bool stopped = false;
  UnsearchedParts unsearched;
  SearchCounts counts;
  std::vector<std::thread> threads;

  void run();
  bool hand_over();
};

void LogSearch::State::run() {
  LogReader reader(folder);
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return !queue.empty() || closing || stopped; });
    if (stopped || queue.empty()) return;
    Batch batch = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    changed.notify_all();

    std::vector<KeptHit> kept;
    std::string texts;
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
    StepwiseSearch search(pattern, keep);
    for (SearchTarget& target : batch.targets) search.add(std::move(target));
    while (search.step(reader) == StepwiseSearch::Step::searched) {
    }

    lock.lock();
    unsearched.add(search.unsearched());
    changed.wait(lock, [&] { return turn == batch.number || stopped; });
    let_out();
    counts.lines += search.counts().lines;
    counts.attempts += search.counts().attempts;
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
  auto pattern = SearchPattern::parse(options);
  if (!pattern) return pass(pattern);
  options.threads = std::max<std::size_t>(1, options.threads);
  auto state = std::make_unique<State>(folder, std::move(options), std::move(take));
  state->pattern = std::move(*pattern);
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

SearchCounts LogSearch::finish() {
  state_->hand_over();
  {
    const std::scoped_lock lock(state_->mutex);
    state_->closing = true;
  }
  state_->changed.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
  SearchCounts counts = state_->counts;
  counts.unsearched = state_->unsearched.list();
  return counts;
}

Error SearchCounts::incomplete() const {
  DROVER_CHECK(!unsearched.empty(), "something was not searched");
  constexpr std::size_t kMostNamed = 5;
  std::string parts;
  for (std::size_t i = 0; i < unsearched.size() && i < kMostNamed; ++i) {
    const UnsearchedLog& it = unsearched[i];
    parts += concat(i == 0 ? "" : "; ", it.reason, " (", format_size(it.bytes), " in ", plural(it.parts, "part"),
                    ", with output of ", plural(it.attempts, "attempt"), ")");
  }
  if (unsearched.size() > kMostNamed) parts += concat("; and ", unsearched.size() - kMostNamed, " more files");
  return {ErrorCode::damaged, concat("the search is incomplete, some logs could not be read: ", parts),
          "restore these files from a backup, then search again; 'drover doctor' checks the rest"};
}

}  // namespace drover
