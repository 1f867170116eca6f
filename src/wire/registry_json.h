// Queues as JSON, as every service shows and takes them.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/queue.h"

namespace drover {

/// Whether this can be a share's name, or the beginning of some with a star behind it.
bool is_share_pattern(std::string_view text);

boost::json::object queue_to_json(const Queue& queue);
/// `queue` with what the text says of it: {"priority": 10, "order": "fair", "weights": {"team-a": 1, "batch*": 2.5},
/// …}.
Result<Queue> queue_from_json(std::string_view text, Queue queue);

}  // namespace drover
