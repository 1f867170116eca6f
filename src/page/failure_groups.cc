#include "page/failure_groups.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "page/slim.h"

namespace drover::page {
namespace {

constexpr std::size_t kMostGroups = 2000;
constexpr std::size_t kMostKnownLines = 4096;
constexpr std::size_t kLongestLine = 4096;  // what comes after has no part in the shape

bool larger(const FailureGroup& a, const FailureGroup& b) {
  return a.items != b.items ? a.items > b.items : a.attempts > b.attempts;
}

}  // namespace

std::string how_it_ended(const Attempt& attempt) {
  return failure_kind(attempt.ending, attempt.exit_code.value_or(0), attempt.signal.value_or(0));
}

std::string_view telling_line(const Attempt& attempt) {
  if (!attempt.log.last_line.empty()) return attempt.log.last_line;
  // The reason of these says again how they ended.
  if (attempt.ending == Ending::exited || attempt.ending == Ending::signalled) return {};
  return attempt.reason == how_it_ended(attempt) ? std::string_view() : attempt.reason;
}

void FailureGroups::add(const Attempt& attempt) {
  if (attempt.state != AttemptState::failed && attempt.state != AttemptState::lost) return;
  FailureGroup& group = group_of(attempt);
  const bool settled = attempt.settled && attempt.state == AttemptState::failed;
  if (group.attempts == 0 || (settled && group.items == 0)) group.example = slim(attempt);
  ++group.attempts;
  if (settled) ++group.items;
}

FailureGroup& FailureGroups::group_of(const Attempt& attempt) {
  Ended ended{.ending = attempt.ending};
  if (attempt.ending == Ending::exited) ended.code = attempt.exit_code.value_or(0);
  if (attempt.ending == Ending::signalled) ended.code = attempt.signal.value_or(0);
  const std::string_view line = telling_line(attempt).substr(0, kLongestLine);
  std::string known_as(line);
  std::ranges::replace_if(known_as, [](char c) { return c >= '0' && c <= '9'; }, '0');
  auto& known = known_lines_[ended];
  const auto found = known.find(known_as);
  if (found != known.end()) return *found->second;

  if (groups_.size() >= kMostGroups) forget_small_ones();
  Key key{.ended = ended, .shape = shape_ ? shape_(line) : known_as};
  FailureGroup& group = groups_[key];
  if (group.attempts == 0) {
    group.how = how_it_ended(attempt);
    group.shape = key.shape;
  }
  if (++known_count_ > kMostKnownLines) {
    known_lines_.clear();
    known_count_ = 1;
  }
  known_lines_[ended].emplace(std::move(known_as), &group);
  return group;
}

// Adds the smaller half to the rest of those that ended alike. One that comes again later starts from nothing.
void FailureGroups::forget_small_ones() {
  std::vector<const std::pair<const Key, FailureGroup>*> by_size;
  for (const auto& group : groups_) {
    if (!group.first.is_rest) by_size.push_back(&group);
  }
  std::ranges::sort(by_size, [](const auto* a, const auto* b) { return larger(a->second, b->second); });
  for (std::size_t i = by_size.size() / 2; i < by_size.size(); ++i) {
    const Key key = by_size[i]->first;
    auto small = groups_.extract(key);
    FailureGroup& rest = groups_[Key{.ended = key.ended, .is_rest = true}];
    if (rest.attempts == 0 || (rest.items == 0 && small.mapped().items > 0)) rest.example = small.mapped().example;
    rest.how = small.mapped().how;
    rest.is_rest = true;
    rest.items += small.mapped().items;
    rest.attempts += small.mapped().attempts;
  }
  known_lines_.clear();
  known_count_ = 0;
}

std::vector<FailureGroup> FailureGroups::sorted() const {
  std::vector<FailureGroup> out;
  out.reserve(groups_.size());
  for (const auto& [key, group] : groups_) out.push_back(group);
  std::ranges::stable_sort(out, larger);
  return out;
}

}  // namespace drover::page
