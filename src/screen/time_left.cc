#include "screen/time_left.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "base/random.h"

namespace drover {
namespace {

constexpr std::size_t kPlays = 32;
constexpr std::size_t kLowPlay = kPlays / 10;
constexpr std::size_t kHighPlay = kPlays - 1 - kLowPlay;
constexpr std::uint64_t kFewestEnded = 3;
constexpr std::uint64_t kMostSlots = 4096;  // more only take longer to play
// A rate that saw this many items, looking back this long, weighs as much as the durations.
constexpr double kRateItems = 100;
constexpr double kRateWindow_s = 10;
// How far from the durations seen the plays go, in standard errors. What was not seen yet is rather long than short.
constexpr double kShorterBlurs = -1.3;
constexpr double kLongerBlurs = 2;

// Late enough to be called long: past nearly all others, by more than the blur of the numbers.
bool is_long(double running_s, const DurationsSeen& seen) {
  const double usual_s = seen.count > 20 ? seen.p95_s : seen.max_s;
  return running_s > 1.1 * usual_s + 1;
}

/// A rank drawn by chance. Numbered from the run's end, so that an item keeps its luck from one refresh to the next and
/// the estimate does not tremble.
double rank_drawn(std::size_t play, std::uint64_t kind, std::uint64_t number) {
  Random random(play * 0x9e3779b97f4a7c15 + kind * 0xc2b2ae3d27d4eb4f + number * 0x165667b19e3779f9);
  const double chance = (static_cast<double>(random.next() >> 11U) + 0.5) * 0x1p-53;
  return -std::log(chance);
}

enum Kind : std::uint64_t { kRunning, kWaiting, kLongest, kWhen };

class Plays {
 public:
  explicit Plays(const WorkLeft& work)
      : work_(work),
        curve_(work.seen, work.running_s),
        slots_(std::clamp<std::uint64_t>(work.slots, 1, kMostSlots)),
        // The mean is known better than the curve through a few points; what still runs moves both alike.
        mean_s_(work.seen.mean_s * curve_.mean_s() / DurationCurve(work.seen, {}).mean_s()),
        blur_(curve_.variation() / std::sqrt(static_cast<double>(work.seen.count))) {}

  TimeRange range() const {
    std::array<double, kPlays> ends{};
    for (std::size_t play = 0; play < kPlays; ++play) ends[play] = play_rest(play);
    std::ranges::sort(ends);
    return {ends[kLowPlay], ends[kHighPlay]};
  }

 private:
  // Seconds until the run's end, if durations are `scale` times those seen and chance is this play's.
  double play_rest(std::size_t play) const {
    const double scale =
        std::exp(blur_ * std::lerp(kShorterBlurs, kLongerBlurs, static_cast<double>(play) / (kPlays - 1)));
    std::vector<double> free_at;  // a heap, the earliest on top
    for (std::size_t i = 0; i < work_.running_s.size() && i < kMostSlots; ++i) {
      const double rank = curve_.rank_of(work_.running_s[i] / scale) + rank_drawn(play, kRunning, i);
      free_at.push_back(std::max(0.0, scale * curve_.seconds_at(rank) - work_.running_s[i]));
    }
    double end = free_at.empty() ? 0 : *std::ranges::max_element(free_at);
    if (work_.not_started == 0) return end;

    free_at.resize(std::max<std::size_t>(free_at.size(), slots_), 0);
    std::ranges::make_heap(free_at, std::greater<>());
    const std::uint64_t played = std::min(work_.not_started, std::max<std::uint64_t>(100, 2 * slots_));
    double last_start = 0;
    for (std::uint64_t left = played; left > 0; --left) {
      std::ranges::pop_heap(free_at, std::greater<>());
      last_start = free_at.back();
      free_at.back() += scale * curve_.seconds_at(rank_drawn(play, kWaiting, left));
      end = std::max(end, free_at.back());
      std::ranges::push_heap(free_at, std::greater<>());
    }
    // The queue moves at the pace that was seen; what runs when it is empty takes its own time.
    const double pace_s = seconds_per_item(scale);
    end += last_start * (pace_s * static_cast<double>(slots_) / (scale * curve_.mean_s()) - 1);

    const auto before = static_cast<double>(work_.not_started - played);
    if (before < 1) return end;
    const double before_s = before * pace_s;
    const double longest = std::log(before) - std::log(rank_drawn(play, kLongest, 0));  // the largest of so many ranks
    const double its_start_s = before_s * std::exp(-rank_drawn(play, kWhen, 0));
    return std::max(before_s + end, its_start_s + scale * curve_.seconds_at(std::max(0.0, longest)));
  }

  // Between two items of the queue. Seen as a rate once that rests on enough items: it knows what durations do not,
  // such as the time between them and slots that are held back.
  double seconds_per_item(double scale) const {
    const double from_durations = scale * mean_s_ / static_cast<double>(slots_);
    if (work_.rate <= 0) return from_durations;
    const double items = work_.rate * kRateWindow_s;
    const double trust = items / (items + kRateItems);
    return trust / work_.rate + (1 - trust) * from_durations;
  }

  const WorkLeft& work_;
  DurationCurve curve_;
  std::uint64_t slots_;
  double mean_s_;
  double blur_;  // the standard error of the mean, over the mean
};

}  // namespace

std::optional<TimeLeft> estimate_time_left(const WorkLeft& work) {
  if (work.not_started == 0 && work.running_s.empty()) return {};
  if (work.seen.count < std::clamp<std::uint64_t>(work.slots / 2, kFewestEnded, 10)) return {};
  if (work.not_started == 0) {
    const auto count = std::ranges::count_if(work.running_s, [&](double s) { return is_long(s, work.seen); });
    if (count * 2 >= std::ssize(work.running_s))
      return RunningLong{static_cast<std::uint64_t>(count), work.running_s.size()};
  }
  return Plays(work).range();
}

}  // namespace drover
