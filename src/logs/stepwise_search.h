// The search of log_search.h on the caller's thread, one frame of the logs at a time, so that the caller can stop after
// any of them and continue later: because the reader of the hits is slow, or because others wait for the thread.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "logs/attempt_search.h"
#include "logs/lines.h"
#include "logs/log_reader.h"
#include "logs/log_search.h"

namespace drover {

class StepwiseSearch {
 public:
  static Result<std::unique_ptr<StepwiseSearch>> start(const SearchOptions& options, LogSearch::Take take);
  StepwiseSearch(std::shared_ptr<const SearchPattern> pattern, LogSearch::Take take)
      : pattern_(std::move(pattern)), take_(std::move(take)), sieve_(pattern_->literal_parts()) {}

  /// Searched after those that were added before.
  void add(SearchTarget target) { targets_.push_back(std::move(target)); }

  enum class Step : std::uint8_t {
    searched,     // there may be more in these targets
    out_of_work,  // all targets that were added were searched
    stopped,      // `take` wants no more
  };
  /// Searches at most one frame. The reader may be another one each time.
  Step step(LogReader& reader);

  /// Of what was searched until now.
  SearchCounts counts() const;
  const UnsearchedParts& unsearched() const { return unsearched_; }

 private:
  /// The attempt that is being searched.
  struct Current {
    Current(const SearchPattern& pattern, SearchTarget target, const LogSearch::Take& take);
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

    const SearchTarget target;
    AttemptSearch search;
    LineBlocks blocks;
    std::size_t next_extent = 0;
    std::vector<FramePlace> frames;  // of the extent before that one
    std::size_t next_frame = 0;
    std::vector<LogDamage> damages;
  };

  /// The places of an extent's frames; attempts that follow each other share most of them.
  Result<std::vector<FramePlace>> frames_of(LogReader& reader, const Extent& extent);
  /// An attempt with all its output in one frame, in which nothing of it can match.
  bool is_ruled_out(LogReader& reader, const SearchTarget& target);
  Step search_frame(LogReader& reader, const FramePlace& place);
  void open_extent(LogReader& reader, const Extent& extent);
  Step finish_current();
  void count_current();

  const std::shared_ptr<const SearchPattern> pattern_;
  const LogSearch::Take take_;
  std::deque<SearchTarget> targets_;
  std::unique_ptr<Current> current_;
  FrameSieve sieve_;
  Extent last_extent_;
  std::vector<FramePlace> last_frames_;
  UnsearchedParts unsearched_;
  SearchCounts counts_;
  bool stopped_ = false;
};

}  // namespace drover
