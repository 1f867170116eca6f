#include "server/searches.h"

#include <boost/json.hpp>
#include <chrono>
#include <optional>

#include "api/problem.h"
#include "base/utf8.h"
#include "logs/stepwise_search.h"
#include "server/read_pool.h"

namespace drover {
namespace json = boost::json;
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTurn{20};
constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
constexpr std::size_t kMostUnsentHits = std::size_t{1} << 20;
// Read from the ledger at once: a reader that stays for long keeps its log from being cut short.
constexpr std::size_t kAttemptsAtOnce = 4096;
constexpr HolderCounts::Limits kSearchLimits{.total = 64, .each = 8, .reserved = 16};

}  // namespace

class Searches::Search {
 public:
  Search(SearchQuestion question, Quota::Share share)
      : question_(std::move(question)), share_(std::move(share)), left_(question_.limit) {}

  const Holder& holder() const { return question_.holder; }

  Result<void> prepare() {
    auto search = StepwiseSearch::start({.pattern = question_.pattern, .ignore_case = question_.ignore_case},
                                        [this](const SearchHit& hit) { return add(hit); });
    if (!search) return pass(search);
    search_ = std::move(*search);
    return {};
  }
  void answer(HttpReply reply) {
    stream_ = reply.stream({.status = 200, .headers = {{"Content-Type", "application/x-ndjson"}}, .body = {}});
  }

  enum class Turn : std::uint8_t { more, peer_is_slow, over };
  Turn turn(const std::string& logs) {
    if (!question_.may_still()) return end();
    LogReader reader(logs);
    const auto until = Clock::now() + kTurn;
    while (Clock::now() < until) {
      switch (search_->step(reader)) {
        case StepwiseSearch::Step::stopped: return end();
        case StepwiseSearch::Step::out_of_work:
          if (!from_) return end();
          if (auto found = find_targets(*from_); !found) {
            tell(found.error());
            return end();
          }
          break;
        case StepwiseSearch::Step::searched: break;
      }
      if (piece_.size() >= kPieceBytes && !flush()) return Turn::over;
      if (stream_->unsent() > kMostUnsentHits) return Turn::peer_is_slow;
    }
    return flush() ? Turn::more : Turn::over;
  }
  void when_peer_has_room(std::function<void()> call) const {
    stream_->when_unsent_below(kMostUnsentHits / 2, std::move(call));
  }

 private:
  bool add(const SearchHit& hit) {
    if (left_ == 0) return false;
    --left_;
    add_line({{"item", hit.key.item.value},
              {"attempt", hit.key.attempt.value},
              {"line", hit.line},
              {"stream", to_string(hit.stream)},
              {"time_ms", hit.time_ms},
              {"text", utf8(hit.text)}});
    return true;
  }
  void add_line(const json::object& line) {
    piece_ += json::serialize(line);
    piece_ += '\n';
  }
  /// It has begun to answer: what went wrong can only be its last line.
  void tell(const Error& error) { add_line({{"problem", error.message}, {"next", error.next}}); }
  /// False: the peer is gone.
  bool flush() { return stream_->write(std::exchange(piece_, {})); }

  Turn end() {
    const SearchCounts counts = search_->counts();
    if (!counts.unsearched.empty()) tell(counts.incomplete());
    flush();
    stream_->end();
    return Turn::over;
  }

  /// The next attempts that printed something, from this item on and in their order.
  Result<void> find_targets(ItemIndex first) {
    std::size_t seen = 0;
    ItemIndex last = first;
    from_.reset();
    return ReadPool::reader().each_attempt(question_.job, first, [&](const Attempt& it) {
      if (seen >= kAttemptsAtOnce && it.item != last) {
        from_ = it.item;
        return false;
      }
      ++seen;
      last = it.item;
      const bool is_wanted = !question_.only_failed || it.state == AttemptState::failed;
      if (is_wanted && !it.log.extents.value.empty()) {
        search_->add({{it.job, it.item, it.attempt}, ExtentList::decode(it.log.extents.value), it.log.bytes});
      }
      return true;
    });
  }

  const SearchQuestion question_;
  const Quota::Share share_;
  std::uint64_t left_;                            // lines
  std::optional<ItemIndex> from_ = ItemIndex{0};  // what is looked up next; nothing: all was
  std::unique_ptr<StepwiseSearch> search_;
  std::shared_ptr<HttpStream> stream_;
  std::string piece_;  // lines that were not written yet
};

Searches::Searches(Later later, std::string logs)
    : later_(std::move(later)), logs_(std::move(logs)), quota_("searches", kSearchLimits) {}

Searches::~Searches() = default;

void Searches::begin(const SearchQuestion& question, HttpReply reply) {
  auto share = quota_.take(question.holder);
  if (!share) return reply.send(too_many(share.error()));
  auto search = std::make_shared<Search>(question, std::move(*share));
  if (auto ready = search->prepare(); !ready) return reply.send(problem(ready.error()));
  search->answer(std::move(reply));
  take_turns(search);
}

void Searches::take_turns(const std::shared_ptr<Search>& search) {
  later_(search->holder(), [this, search] {
    if (stopped_) return;
    switch (search->turn(logs_)) {
      case Search::Turn::over: return;
      case Search::Turn::more: return take_turns(search);
      case Search::Turn::peer_is_slow: return search->when_peer_has_room([this, search] { take_turns(search); });
    }
  });
}

}  // namespace drover
