#include "cli/raw_log.h"

#include <fmt/format.h>

#include "cli/notices_in_background.h"
#include "cli/print.h"

namespace drover {

Result<bool> print_raw_log(LogReader& reader, const LogKey& key, const ExtentList& extents) {
  auto places = reader.frames_of(extents);
  if (!places) return pass(places);
  for (const FramePlace& place : *places) {
    auto raw = reader.frame(place);
    if (!raw) return pass(raw);
    if (*raw == nullptr) {
      print_to_error(fmt::format("drover: part of the stored log of item {} is damaged\n", key.item.value));
      continue;
    }
    RecordCursor cursor(**raw);
    while (const auto record = cursor.next()) {
      if (record->key != key) continue;
      if (record->stream != LogStream::out) {
        print_to_error(std::string(record->bytes));
      } else if (!print_text(stdout, record->bytes)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace drover
