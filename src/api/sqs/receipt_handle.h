// How a receipt is written for clients of SQS: opaque to them, and with a checksum, so that one that was cut or made up
// is told from one that has expired. It is no secret: whoever may delete messages of a queue may delete any of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/streams/stream_calls.h"

namespace drover::aws {

std::string receipt_handle(const Receipt& receipt);
/// Nothing: it is not one that was returned.
std::optional<Receipt> parse_receipt_handle(std::string_view text);

}  // namespace drover::aws
