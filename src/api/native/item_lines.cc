#include "api/native/item_lines.h"

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

// As in a list on disk: an empty line is not an item, but between two NUL bytes there is one.
Result<void> ItemLines::add(std::string_view item) {
  if (separator_ == '\n') {
    if (item.empty()) return {};
    if (item.contains('\0')) {
      return fail(ErrorCode::bad_input,
                  "the list contains an item with a NUL byte, which a command line cannot contain",
                  "if items are separated by NUL bytes, use separator=nul");
    }
  }
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
      return fail(ErrorCode::bad_input, "the list contains an item longer than 1 MiB",
                  "separate items with newlines, or with NUL bytes and separator=nul");
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
  if (done && !rest_.empty()) done = add(rest_);
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
  return fail(ErrorCode::io, "the list is incomplete: the upload ended early", "upload it again");
}

}  // namespace drover
