#include "api/item_lines.h"

#include "base/text.h"

namespace drover {
namespace {

constexpr std::size_t kLongestItem = std::size_t{1} << 20;

}  // namespace

Result<void> ItemLines::begin() {
  if (intake_) return {};
  auto intake = backend_.begin_items();
  if (!intake) return pass(intake);
  intake_ = std::move(*intake);
  return {};
}

Result<void> ItemLines::add(std::string_view item) {
  if (item.empty()) return {};  // an empty line is no item, as in a list on disk
  return intake_->add(item);
}

Result<void> ItemLines::take(std::string_view bytes) {
  auto done = cut(bytes);
  if (!done) failed_ = done.error();
  return done;
}

Result<void> ItemLines::cut(std::string_view bytes) {
  if (auto begun = begin(); !begun) return begun;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find(separator_);
    if (rest_.size() + std::min(end, bytes.size()) > kLongestItem) {
      return fail(ErrorCode::bad_input, "the list holds an item longer than 1 MiB",
                  "a list has one item per line, or one per NUL byte with separator=nul");
    }
    if (end == std::string_view::npos) {
      rest_ += bytes;
      return {};
    }
    if (rest_.empty()) {
      if (auto added = add(bytes.substr(0, end)); !added) return added;
    } else {
      rest_ += bytes.substr(0, end);
      if (auto added = add(rest_); !added) return added;
      rest_.clear();
    }
    bytes.remove_prefix(end + 1);
  }
  return {};
}

Result<void> ItemLines::finish() {
  auto done = begin();
  if (done) done = add(rest_);
  if (done) {
    // The answer names it by its number, which nobody else may be given after a power cut.
    if (auto finished = intake_->finish(Lasting::at_once)) {
      manifest_ = *finished;
    } else {
      done = pass(finished);
    }
  }
  if (!done) failed_ = done.error();
  return done;
}

Result<NewManifest> ItemLines::manifest() const {
  if (manifest_) return *manifest_;
  if (failed_) return std::unexpected(*failed_);
  return fail(ErrorCode::io, "the list broke off before its end", "send it again");
}

}  // namespace drover
