#include "net/outbox.h"

#include <algorithm>

#include "base/check.h"

namespace drover {
namespace {

constexpr std::size_t kSmall = std::size_t{16} << 10;
constexpr std::size_t kMostGone = 64;

}  // namespace

void Outbox::push(std::string bytes) {
  if (bytes.empty()) return;
  bytes_ += bytes.size();
  if (!pieces_.empty() && pieces_.back().size() + bytes.size() <= kSmall) {
    pieces_.back() += bytes;
  } else {
    pieces_.push_back(std::move(bytes));
  }
}

std::size_t Outbox::front(std::span<std::string_view> views) const {
  const std::size_t count = std::min(pieces_.size() - first_, views.size());
  for (std::size_t i = 0; i < count; ++i) views[i] = pieces_[first_ + i];
  if (count > 0) views[0].remove_prefix(offset_);
  return count;
}

void Outbox::pop(std::size_t bytes) {
  DROVER_CHECK(bytes <= bytes_, "no more can leave than there was");
  bytes_ -= bytes;
  if (bytes_ == 0) return clear();
  while (bytes > 0) {
    const std::size_t left = pieces_[first_].size() - offset_;
    if (bytes < left) {
      offset_ += bytes;
      break;
    }
    bytes -= left;
    pieces_[first_] = {};
    ++first_;
    offset_ = 0;
  }
  // A stream may never be empty again.
  if (first_ > kMostGone) {
    pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
}

void Outbox::clear() {
  pieces_.clear();
  first_ = 0;
  offset_ = 0;
  bytes_ = 0;
}

}  // namespace drover
