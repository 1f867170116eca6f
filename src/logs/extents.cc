#include "logs/extents.h"

#include <algorithm>

#include "logs/record.h"

namespace drover {

void ExtentList::add(const Extent& frame) {
  if (!extents_.empty()) {
    Extent& last = extents_.back();
    if (last.covers(frame.segment, frame.offset)) return;
    if (last.segment == frame.segment && last.offset + last.size == frame.offset) {
      last.size += frame.size;
      return;
    }
  }
  extents_.push_back(frame);
}

bool ExtentList::covers(std::uint64_t segment, std::uint64_t offset) const {
  return std::ranges::any_of(extents_, [&](const Extent& it) { return it.covers(segment, offset); });
}

Bytes ExtentList::encode() const {
  Bytes bytes;
  for (const Extent& extent : extents_) {
    append_varint(bytes.value, extent.segment);
    append_varint(bytes.value, extent.offset);
    append_varint(bytes.value, extent.size);
  }
  return bytes;
}

ExtentList ExtentList::decode(std::string_view bytes) {
  ExtentList list;
  while (!bytes.empty()) {
    const auto segment = take_varint(bytes);
    const auto offset = take_varint(bytes);
    const auto size = take_varint(bytes);
    if (!segment || !offset || !size) break;
    list.extents_.push_back({*segment, *offset, *size});
  }
  return list;
}

}  // namespace drover
