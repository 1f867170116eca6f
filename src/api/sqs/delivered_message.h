// Messages as a client that received them sees them.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <expected>
#include <set>
#include <string>
#include <vector>

#include "api/aws/account.h"
#include "api/aws/fault.h"
#include "api/message_exchange.h"

namespace drover::aws {

/// Which attributes of messages were asked for.
struct WantedAttributes {
  std::set<std::string, std::less<>> system;  // "All", "SentTimestamp"
  std::vector<std::string> of_message;        // "All", "name", "prefix.*"

  bool wants(std::string_view name) const { return system.contains(name) || system.contains("All"); }
};
std::expected<WantedAttributes, Fault> wanted_attributes(const boost::json::object& input);

struct QueuePlace {
  const Account& account;
  std::string region;
  bool is_fifo = false;
};
/// The list that a receive is answered with.
boost::json::array messages_json(const std::vector<DeliveredMessage>& messages, const WantedAttributes& wanted,
                                 const QueuePlace& place);

/// Twenty digits, which rise within a queue.
std::string sequence_number(MessageNumber message);

}  // namespace drover::aws
