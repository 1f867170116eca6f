#include "api/logs/log_page.h"

#include "base/text.h"

namespace drover::aws {

namespace json = boost::json;

bool LogPage::add(std::string_view piece) {
  if (!is_full_) lines_.add(piece, [this](LogLine line) { return add_line(std::move(line)); });
  return !is_full_;
}

bool LogPage::add_line(LogLine it) {
  is_full_ = it.number >= wanted_.until;
  if (is_full_) return false;
  if (it.time_ms < wanted_.start_ms || it.time_ms >= wanted_.end_ms) return true;
  const std::uint64_t size = it.text.size();
  if (wanted_.is_forward && (page_.size() == wanted_.limit || (!page_.empty() && bytes_ + size > kMostBytes))) {
    is_full_ = true;
    return false;
  }
  bytes_ += size;
  page_.push_back(std::move(it));
  while (page_.size() > wanted_.limit || (page_.size() > 1 && bytes_ > kMostBytes)) {
    bytes_ -= page_.front().text.size();
    page_.pop_front();
  }
  return true;
}

// A token names the line where the next page begins, or before which it ends. At the end it stays the same.
json::object LogPage::finish() {
  const std::uint64_t known = std::min(lines_.passed(), wanted_.until);
  const std::uint64_t first =
      page_.empty() ? (wanted_.is_forward ? std::min(wanted_.from, lines_.passed()) : known) : page_.front().number;
  const std::uint64_t after = page_.empty() ? first : page_.back().number + 1;
  json::array events;
  for (const LogLine& it : page_) {
    events.push_back(json::object{{"timestamp", it.time_ms}, {"message", it.text}, {"ingestionTime", it.time_ms}});
  }
  return {{"events", std::move(events)},
          {"nextForwardToken", concat("f/", after)},
          {"nextBackwardToken", concat("b/", first)}};
}

}  // namespace drover::aws
