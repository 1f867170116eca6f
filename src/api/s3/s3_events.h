// Events of objects, as messages: the JSON that S3 puts on queues.
#pragma once

#include <string>

#include "api/aws/account.h"
#include "api/message_exchange.h"
#include "ports/buckets.h"

namespace drover::aws {

/// {"Records":[…]}, or the test event.
std::string event_text(const ObjectEvent& event, const Account& account);

OutgoingMessage event_message(const ObjectEvent& event, const Account& account);

}  // namespace drover::aws
