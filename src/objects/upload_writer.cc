#include "objects/upload_writer.h"

#include <algorithm>

#include "base/text.h"

namespace drover {
namespace {

constexpr std::size_t kMostWrittenParts = 10'000;

}  // namespace

UploadWriter::~UploadWriter() {
  if (!upload_.empty()) (void)store_.abort_upload(object_.key, upload_);
}

Result<void> UploadWriter::send_part() {
  if (parts_.size() == kMostWrittenParts) {
    return fail(ErrorCode::bad_input,
                concat(store_.name(), "/", object_.key, " has more than ", kMostWrittenParts * part_bytes_,
                       " bytes, which cannot be sent piece by piece"),
                "write it to a file first");
  }
  if (upload_.empty()) {
    auto begun = store_.begin_upload(object_);
    if (!begun) return pass(begun);
    upload_ = std::move(*begun);
  }
  auto sent = store_.upload_part(object_.key, upload_, static_cast<std::uint32_t>(parts_.size() + 1), part_);
  if (!sent) return pass(sent);
  parts_.push_back(std::move(*sent));
  part_.clear();
  return {};
}

Result<void> UploadWriter::add(std::string_view bytes) {
  size_ += bytes.size();
  while (!bytes.empty()) {
    if (part_.size() == part_bytes_) {
      if (auto sent = send_part(); !sent) return sent;
    }
    const std::size_t some = std::min(bytes.size(), part_bytes_ - part_.size());
    part_ += bytes.substr(0, some);
    bytes.remove_prefix(some);
  }
  return {};
}

Result<ObjectInfo> UploadWriter::finish() {
  if (upload_.empty()) {
    return store_.put(object_, {.size = part_.size(), .read = [this](std::uint64_t offset, std::uint64_t size) {
                                  return Result<std::string>(part_.substr(offset, size));
                                }});
  }
  if (auto sent = send_part(); !sent) return pass(sent);
  auto done = store_.complete_upload(object_.key, upload_, parts_);
  if (!done) return done;
  upload_.clear();
  done->size = size_;
  return done;
}

}  // namespace drover
