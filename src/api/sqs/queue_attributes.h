// The attributes of a queue, as clients of SQS set and get them. What the core obeys is in the fields of its stream;
// all else, and the tags, are in the stream's text.
#pragma once

#include <boost/json/object.hpp>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "api/aws/account.h"
#include "api/aws/fault.h"
#include "core/streams/stream_calls.h"

namespace drover::aws {

/// What a stream's text holds of a queue.
struct QueueText {
  std::map<std::string, std::string, std::less<>> attributes;  // such as Policy
  std::map<std::string, std::string, std::less<>> tags;

  const std::string* attribute(std::string_view name) const;
};
QueueText queue_text(const StreamSpec& spec);
/// What others keep in the text stays.
void set_queue_text(StreamSpec& spec, const QueueText& text);
std::expected<void, Fault> add_tags(const boost::json::object& tags, StreamSpec& queue);

/// What attributes refer to.
struct QueueNeighbours {
  const Account& account;
  std::function<std::shared_ptr<const Stream>(const std::string& name)> find;
};

/// Changes `spec` as asked for. Of a queue that is new, whether it is FIFO is among it.
enum class QueueAge : std::uint8_t { is_new, exists };
std::expected<void, Fault> set_attributes(const boost::json::object& given, QueueAge age,
                                          const QueueNeighbours& neighbours, StreamSpec& spec);

/// The first of these attributes that an existing queue has another value for; empty: none.
std::expected<std::string, Fault> differing_attribute(const boost::json::object& given,
                                                      const QueueNeighbours& neighbours, const StreamSpec& existing);

/// Whether there is an attribute of this name, or it is "All".
bool is_queue_attribute(std::string_view name);
/// Whether it counts messages.
bool is_count(std::string_view name);
/// All that the queue has.
boost::json::object attributes_of(const StreamView& view, const Account& account, std::string_view region);

/// The queue's name in "arn:aws:sqs:REGION:ACCOUNT:NAME"; empty: it is not the ARN of a queue here.
std::string queue_in_arn(std::string_view arn, const Account& account);
/// Whether a queue lets the other one, of this name, use it for dead letters.
bool takes_dead_letters_of(const StreamSpec& target, const std::string& source, const Account& account);

}  // namespace drover::aws
