#include "objects/new_object_data.h"

#include <utility>

namespace drover {
namespace {

/// Of one object between two looks at the disk.
constexpr std::uint64_t kUncheckedBytes = std::uint64_t{4} << 20;

}  // namespace

BucketStore::Data::~Data() {
  if (number_ != 0 && !is_known_) store_.abandon(number_);
}

Result<void> BucketStore::Data::add(std::string_view bytes) {
  size_ += bytes.size();
  if (size_ > checked_) {
    checked_ = size_ + kUncheckedBytes;
    if (auto room = store_.outside_.has_room(kUncheckedBytes); !room) return room;
  }
  if (!file_ && size_ <= most_small_) {
    small_ += bytes;
    return {};
  }
  if (!file_) {
    if (auto begun = begin_file(); !begun) return begun;
  }
  return write_all(file_.get(), bytes, "a new object");
}

Result<void> BucketStore::Data::finish() {
  if (file_) {
    if (auto kept = store_.files_.keep(number_, file_); !kept) return kept;
    file_.reset();
  }
  is_finished_ = true;
  return {};
}

void BucketStore::Data::become_known() {
  is_known_ = true;
  if (number_ != 0) store_.settle(number_);
}

Result<void> BucketStore::Data::begin_file() {
  auto number = store_.take_file_number();
  if (!number) return pass(number);
  number_ = *number;
  auto file = store_.files_.create(number_);
  if (!file) return pass(file);
  file_ = std::move(*file);
  const std::string gathered = std::exchange(small_, {});
  return write_all(file_.get(), gathered, "a new object");
}

}  // namespace drover
