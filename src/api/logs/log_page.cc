#include "api/logs/log_page.h"

#include "base/text.h"

namespace drover::aws {

namespace json = boost::json;

void LogPage::add(std::string_view piece) {
  lines_.add(piece, [this](LogLine line) { add_line(std::move(line)); });
}

void LogPage::add_line(LogLine it) {
  if (is_full_ || it.number < wanted_.from || it.number >= wanted_.until) return;
  if (it.time_ms < wanted_.start_ms || it.time_ms >= wanted_.end_ms) return;
  const std::uint64_t size = it.text.size();
  if (wanted_.is_forward && (page_.size() == wanted_.limit || (!page_.empty() && bytes_ + size > kMostBytes))) {
    is_full_ = true;
    return;
  }
  bytes_ += size;
  page_.push_back(std::move(it));
  while (page_.size() > wanted_.limit || (page_.size() > 1 && bytes_ > kMostBytes)) {
    bytes_ -= page_.front().text.size();
    page_.pop_front();
  }
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
