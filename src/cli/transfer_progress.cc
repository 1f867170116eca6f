#include "cli/transfer_progress.h"

#include <fmt/format.h>

#include <cmath>

#include "base/units.h"
#include "screen/time_words.h"

namespace drover {

void TransferProgress::found(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  ++found_;
  found_bytes_ += bytes;
}

void TransferProgress::all_found() {
  const std::lock_guard lock(mutex_);
  all_found_ = true;
}

void TransferProgress::passed(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_ += bytes;
  draw();
}

void TransferProgress::copied() {
  const std::lock_guard lock(mutex_);
  ++copied_;
  draw();
}

void TransferProgress::clear() {
  const std::lock_guard lock(mutex_);
  line_.clear();
}

std::uint64_t TransferProgress::objects() const {
  const std::lock_guard lock(mutex_);
  return copied_;
}

std::uint64_t TransferProgress::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

double TransferProgress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begun_).count();
}

void TransferProgress::draw() {
  if (!line_.wants_line(true)) return;
  const double rate = rate_.note(seconds(), bytes_);
  std::string words = fmt::format("{} of {}{} · {}", format_count(copied_), plural(found_, "object"),
                                  all_found_ ? "" : " so far", format_size(bytes_));
  if (rate > 0) words += fmt::format(" · {}/s", format_size(static_cast<std::uint64_t>(std::llround(rate))));
  if (all_found_ && found_bytes_ > bytes_) {
    if (const auto left = rate_.left(found_bytes_ - bytes_)) words += " · " + time_left_words(*left);
  }
  line_.draw(bytes_, all_found_ ? found_bytes_ : 0, words);
}

}  // namespace drover
