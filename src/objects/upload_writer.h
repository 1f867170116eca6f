// Writes an object whose size is not known before its end: small ones at once, large ones in parts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ports/objects.h"

namespace drover {

class UploadWriter {
 public:
  static constexpr std::size_t kPartBytes = std::size_t{16} << 20;

  UploadWriter(ObjectStore& store, ObjectInfo object, std::size_t part_bytes = kPartBytes)
      : store_(store), object_(std::move(object)), part_bytes_(part_bytes) {}
  /// What was not finished leaves nothing.
  ~UploadWriter();
  UploadWriter(const UploadWriter&) = delete;
  UploadWriter& operator=(const UploadWriter&) = delete;

  Result<void> add(std::string_view bytes);
  /// The object is there when this returns.
  Result<ObjectInfo> finish();

 private:
  Result<void> send_part();

  ObjectStore& store_;
  const ObjectInfo object_;
  const std::size_t part_bytes_;
  std::string part_;  // what is not sent yet
  std::string upload_;
  std::vector<UploadedPart> parts_;
  std::uint64_t size_ = 0;
};

}  // namespace drover
