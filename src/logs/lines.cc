#include "logs/lines.h"

#include <algorithm>
#include <cstring>

namespace drover {
namespace {

// A line that is longer comes in pieces.
constexpr std::size_t kLongestLine = std::size_t{1} << 20;

}  // namespace

bool LineBlocks::give(LogStream stream, std::int64_t time_ms, std::string_view bytes) {
  return bytes.empty() || take_({stream, time_ms, bytes});
}

bool LineBlocks::add(const LogRecord& record) {
  // A note stands where something was cut out: what was begun before it does not go on behind it.
  if (record.stream == LogStream::note && !finish()) return false;
  Partial& partial = partial_[static_cast<std::size_t>(record.stream)];
  std::string_view bytes = record.bytes;
  if (!partial.bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::size_t taken = newline == std::string_view::npos ? bytes.size() : newline + 1;
    partial.bytes += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    if (newline != std::string_view::npos || partial.bytes.size() >= kLongestLine) {
      const bool going_on = give(record.stream, partial.time_ms, partial.bytes);
      partial.bytes.clear();
      if (!going_on) return false;
    }
  }
  const void* newline = ::memrchr(bytes.data(), '\n', bytes.size());
  const std::size_t whole =
      newline == nullptr ? 0 : static_cast<std::size_t>(static_cast<const char*>(newline) - bytes.data()) + 1;
  if (!give(record.stream, record.time_ms, bytes.substr(0, whole))) return false;
  if (whole == bytes.size()) return true;
  partial.bytes = bytes.substr(whole);
  partial.time_ms = record.time_ms;
  return true;
}

bool LineBlocks::empty() const {
  return std::ranges::all_of(partial_, [](const Partial& it) { return it.bytes.empty(); });
}

bool LineBlocks::finish() {
  for (const LogStream stream : {LogStream::out, LogStream::err, LogStream::note}) {
    Partial& partial = partial_[static_cast<std::size_t>(stream)];
    const bool going_on = give(stream, partial.time_ms, partial.bytes);
    partial.bytes.clear();
    if (!going_on) return false;
  }
  return true;
}

}  // namespace drover
