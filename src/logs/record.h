// One piece of output inside a frame, and how it is written: who printed it, where, when, and the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/words.h"

namespace drover {

/// Whose output it is.
struct LogKey {
  JobId job;
  ItemIndex item;
  AttemptNumber attempt;

  auto operator<=>(const LogKey&) const = default;
};

struct LogRecord {
  LogKey key;
  LogStream stream = LogStream::out;
  std::int64_t time_ms = 0;  // epoch
  std::string_view bytes;    // whole lines, as a rule; a line that goes on has no newline at its end
};

/// A number in as few bytes as it needs: seven bits each, the lowest first.
void append_varint(std::string& out, std::uint64_t number);
/// Takes one from the front; nothing: it is cut short.
std::optional<std::uint64_t> take_varint(std::string_view& in);

void append_record(std::string& out, const LogRecord& record);

/// Goes through the records of a frame. What is no record ends it.
class RecordCursor {
 public:
  explicit RecordCursor(std::string_view frame) : rest_(frame) {}
  std::optional<LogRecord> next();
  /// Everything was a record.
  bool clean() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace drover
