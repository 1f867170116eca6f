#include "logs/stepwise_search.h"

#include "base/text.h"
#include "logs/record.h"

namespace drover {
StepwiseSearch::Current::Current(const SearchPattern& pattern, SearchTarget it, const LogSearch::Take& take)
    : target(std::move(it)),
      search(pattern, target.key, take),
      blocks([this](const LineBlock& block) { return search.look(block); }) {}

Result<std::unique_ptr<StepwiseSearch>> StepwiseSearch::start(const SearchOptions& options, LogSearch::Take take) {
  auto pattern = SearchPattern::parse(options);
  if (!pattern) return pass(pattern);
  return std::make_unique<StepwiseSearch>(std::move(*pattern), std::move(take));
}

StepwiseSearch::Step StepwiseSearch::step(LogReader& reader) {
  if (stopped_) return Step::stopped;
  if (!current_) {
    while (!targets_.empty() && is_ruled_out(reader, targets_.front())) {
      const Extent passed = targets_.front().extents.all().front();
      targets_.pop_front();
      const bool goes_on_there = !targets_.empty() && targets_.front().extents.all().size() == 1 &&
                                 targets_.front().extents.all().front() == passed;
      if (!goes_on_there) return Step::searched;
    }
    if (targets_.empty()) return Step::out_of_work;
    current_ = std::make_unique<Current>(*pattern_, std::move(targets_.front()), take_);
    targets_.pop_front();
  }
  Current& it = *current_;
  if (it.next_frame < it.frames.size()) return search_frame(reader, it.frames[it.next_frame++]);
  const auto& extents = it.target.extents.all();
  if (it.next_extent == extents.size()) return finish_current();
  open_extent(reader, extents[it.next_extent++]);
  return Step::searched;
}

Result<std::vector<FramePlace>> StepwiseSearch::frames_of(LogReader& reader, const Extent& extent) {
  if (extent == last_extent_) return last_frames_;
  ExtentList one;
  one.add(extent);
  auto frames = reader.frames_of(one);
  if (!frames) return pass(frames);
  last_extent_ = extent;
  last_frames_ = *frames;
  return frames;
}

bool StepwiseSearch::is_ruled_out(LogReader& reader, const SearchTarget& target) {
  if (pattern_->literal_parts().empty() || target.extents.all().size() != 1) return false;
  const auto frames = frames_of(reader, target.extents.all().front());
  if (!frames || frames->size() != 1) return false;
  const auto frame = reader.indexed(frames->front());
  return frame && frame->index != nullptr && !frame->index->cuts_lines(target.key) &&
         !sieve_.may_match(frames->front(), frame->raw, *frame->index, target.key);
}

void StepwiseSearch::open_extent(LogReader& reader, const Extent& extent) {
  auto frames = frames_of(reader, extent);
  current_->next_frame = 0;
  if (frames) {
    current_->frames = std::move(*frames);
    return;
  }
  current_->frames.clear();
  current_->damages.push_back({extent.segment, extent.offset, extent.size, frames.error().message});
}

StepwiseSearch::Step StepwiseSearch::search_frame(LogReader& reader, const FramePlace& place) {
  const auto frame = reader.indexed(place);
  if (!frame || frame->index == nullptr) {
    current_->damages.push_back({place.segment, place.offset, place.next - place.offset,
                                 frame ? reader.damage_at(place.segment) : frame.error().message});
    return Step::searched;
  }
  const LogKey& key = current_->target.key;
  const bool lies_here_as_a_whole = current_->blocks.empty() && !frame->index->cuts_lines(key);
  if (lies_here_as_a_whole && pattern_->options().context == 0 &&
      !sieve_.may_match(place, frame->raw, *frame->index, key)) {
    frame->index->each(key, [this](const LogRecord& record) {
      current_->search.pass_over(record.bytes);
      return true;
    });
    return Step::searched;
  }
  if (frame->index->each(key, [this](const LogRecord& record) { return current_->blocks.add(record); })) {
    return Step::searched;
  }
  stopped_ = true;
  count_current();
  return Step::stopped;
}

StepwiseSearch::Step StepwiseSearch::finish_current() {
  stopped_ = !current_->blocks.finish();
  count_current();
  return stopped_ ? Step::stopped : Step::searched;
}

void StepwiseSearch::count_current() {
  unsearched_.note(current_->damages);
  counts_.lines += current_->search.matches();
  counts_.attempts += current_->search.matches() > 0 ? 1 : 0;
  current_.reset();
}

SearchCounts StepwiseSearch::counts() const {
  SearchCounts out = counts_;
  out.unsearched = unsearched_.list();
  return out;
}

}  // namespace drover
