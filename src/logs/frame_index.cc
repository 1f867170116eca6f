#include "logs/frame_index.h"

#include <algorithm>

namespace drover {

void FrameIndex::build(std::string_view frame) {
  records_.clear();
  next_.clear();
  attempts_.clear();
  RecordCursor cursor(frame);
  OfAttempt* of = nullptr;
  while (const auto record = cursor.next()) {
    const auto at = static_cast<std::uint32_t>(records_.size());
    if (of == nullptr || records_.back().key != record->key) {
      of = &attempts_.try_emplace(record->key, OfAttempt{at, at}).first->second;
    }
    records_.push_back(*record);
    next_.push_back(at);
    next_[of->last] = at;
    of->last = at;
    of->cuts_lines = of->cuts_lines || !record->bytes.ends_with('\n');
  }
}

const LogKey* FrameIndex::key_at(const char* place) const {
  const auto after = std::ranges::upper_bound(records_, place, {}, [](const LogRecord& it) { return it.bytes.data(); });
  if (after == records_.begin()) return nullptr;
  const LogRecord& record = *std::prev(after);
  return place < record.bytes.data() + record.bytes.size() ? &record.key : nullptr;
}

}  // namespace drover
