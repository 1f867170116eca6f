#include "page/top_items.h"

#include <algorithm>

#include "page/slim.h"

namespace drover::page {

void TopItems::add(const Attempt& attempt, std::int64_t value) {
  if (value <= 0 || (attempts_.size() == kMost && value <= values_.back())) return;
  const auto erase = [&](std::ptrdiff_t at) {
    attempts_.erase(attempts_.begin() + at);
    values_.erase(values_.begin() + at);
  };
  const std::ptrdiff_t same_item = std::ranges::find(attempts_, attempt.item, &Attempt::item) - attempts_.begin();
  if (same_item < std::ssize(attempts_)) {
    if (values_[static_cast<std::size_t>(same_item)] >= value) return;
    erase(same_item);
  } else if (attempts_.size() == kMost) {
    erase(std::ssize(attempts_) - 1);
  }
  const std::ptrdiff_t at = std::ranges::upper_bound(values_, value, std::ranges::greater{}) - values_.begin();
  attempts_.insert(attempts_.begin() + at, slim(attempt));
  values_.insert(values_.begin() + at, value);
}

}  // namespace drover::page
