// Streams as JSON, as the native API shows and takes them; and receipts as text.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/streams/stream_calls.h"

namespace drover {

/// The name of a FIFO stream ends so, and no other does.
inline constexpr std::string_view kFifoSuffix = ".fifo";
inline constexpr std::uint64_t kLeastMessageLimit = 1024;  // bytes

/// Letters, digits, '_' and '-', and perhaps the suffix of a FIFO stream: at most 80 characters in all.
bool is_stream_name(std::string_view name);
Result<void> check_stream_name(std::string_view name);

Error no_such_stream(std::string_view name);

boost::json::object stream_to_json(const StreamView& view);

struct StreamSettings {
  StreamSpec spec;
  std::optional<std::uint64_t> version;  // that the stream must have; 0: there must be none
};
/// `spec` with what the text says of it: {"visibility": "30s", "max_receives": 5, "dead_letters": "failed"}. Whether
/// the stream for dead letters exists is not known here.
Result<StreamSettings> stream_from_json(std::string_view text, StreamSpec spec);

/// "3-8192-1"
std::string receipt_text(const Receipt& receipt);
std::optional<Receipt> receipt_from(std::string_view text);
/// "done", "expired", …
std::string_view to_string(ReceiptOutcome outcome);

}  // namespace drover
