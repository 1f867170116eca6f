// Messages are sent and received.
#include <boost/json/array.hpp>

#include "api/sqs/batch_request.h"
#include "api/sqs/delivered_message.h"
#include "api/sqs/message_md5.h"
#include "api/sqs/sqs.h"
#include "api/sqs/sqs_fault.h"
#include "wire/digest.h"

namespace drover::aws {

namespace json = boost::json;

namespace {

/// What the sender can check.
json::object sums_of(const MessageContent& content) {
  json::object out;
  const auto put = [&](std::string_view name, std::string_view sum) {
    if (!sum.empty()) out[name] = sum;
  };
  put("MD5OfMessageBody", hex(content.body_md5));
  put("MD5OfMessageAttributes", md5_of_attributes(content.attributes));
  put("MD5OfMessageSystemAttributes", md5_of_attributes(content.system_attributes));
  return out;
}

void add_sent(json::object& answer, const MessagesSent::One& sent, bool is_fifo) {
  answer["MessageId"] = sent.id.text();
  if (is_fifo) answer["SequenceNumber"] = sequence_number(sent.message);
}

/// A whole number of the input within bounds, or nothing.
std::expected<std::optional<std::int64_t>, Fault> number_in(const json::object& input, std::string_view name,
                                                            std::int64_t least, std::int64_t most) {
  const json::value* it = input.if_contains(name);
  if (it == nullptr) return std::nullopt;
  if (it->get_int64() >= least && it->get_int64() <= most) return it->get_int64();
  return bad_value(name, it->get_int64(), concat("Must be between ", least, " and ", most, ", if provided."));
}

std::optional<std::int64_t> in_ms(const std::optional<std::int64_t>& seconds) {
  return seconds ? std::optional(*seconds * 1000) : std::nullopt;
}

std::expected<ReceiveMessages, Fault> receive_command(const json::object& input) {
  auto most = number_in(input, "MaxNumberOfMessages", 1, kMostReceivedAtOnce);
  if (!most) return std::unexpected(std::move(most.error()));
  auto visibility = number_in(input, "VisibilityTimeout", 0, kLongestVisibilityMs / 1000);
  if (!visibility) return std::unexpected(std::move(visibility.error()));
  auto wait = number_in(input, "WaitTimeSeconds", 0, kLongestReceiveWaitMs / 1000);
  if (!wait) return std::unexpected(std::move(wait.error()));
  return ReceiveMessages{.stream = {},
                         .most = static_cast<std::uint64_t>(most->value_or(1)),
                         .visibility_ms = in_ms(*visibility),
                         .wait_ms = in_ms(*wait)};
}

}  // namespace

Sender SqsApi::sender_of(const Call& call) const {
  const Caller& caller = call.asker.caller;
  return {.id = caller.role_id.empty() ? caller.key_id : concat(caller.role_id, ":", caller.session),
          .now_ms = now_ms_()};
}

void SqsApi::send_one(const Call& call, Answered answered) {
  auto queue = queue_of(call);
  if (!queue) return answered(std::unexpected(std::move(queue.error())));
  auto message = outgoing_message(call.input, **queue, sender_of(call));
  if (!message) return answered(std::unexpected(std::move(message.error())));
  json::object answer = sums_of(message->content);
  std::vector<OutgoingMessage> messages;
  messages.push_back(std::move(*message));
  messages_.send((*queue)->name, std::move(messages), call.resume,
                 [this, answer = std::move(answer), is_fifo = (*queue)->fifo, protocol = call.protocol,
                  later = std::make_shared<Answered>(std::move(answered))](const Result<MessagesSent>& sent) mutable {
                   if (!sent) return (*later)(std::unexpected(fault_for(protocol, sent.error())));
                   add_sent(answer, sent->messages.at(0), is_fifo);
                   (*later)(std::move(answer));
                 });
}

void SqsApi::send_batch(const Call& call, Answered answered) {
  auto queue = queue_of(call);
  if (!queue) return answered(std::unexpected(std::move(queue.error())));
  auto entries = batch_entries(call);
  if (!entries) return answered(std::unexpected(std::move(entries.error())));
  struct Pending {
    BatchOutcome outcome;
    std::vector<json::object> answers;  // for each message that is sent
  };
  auto pending = std::make_shared<Pending>();
  std::vector<OutgoingMessage> messages;
  const Sender sender = sender_of(call);
  std::uint64_t bytes = 0;
  for (const json::value& it : *entries) {
    const json::object& entry = it.get_object();
    auto message = outgoing_message(entry, **queue, sender);
    bytes += message ? message->bytes : entry.at("MessageBody").get_string().size();
    if (!message) {
      pending->outcome.fail(entry, message.error());
      continue;
    }
    pending->answers.push_back(sums_of(message->content));
    pending->answers.back()["Id"] = entry.at("Id");
    messages.push_back(std::move(*message));
  }
  if (bytes > kMostMessageBytes) {
    return answered(refused(SqsError::batch_too_long, concat("Batch requests cannot be longer than ", kMostMessageBytes,
                                                             " bytes. You have sent ", bytes, " bytes.")));
  }
  if (messages.empty()) return answered(std::move(pending->outcome).output());
  messages_.send((*queue)->name, std::move(messages), call.resume,
                 [this, pending, is_fifo = (*queue)->fifo, protocol = call.protocol,
                  later = std::make_shared<Answered>(std::move(answered))](const Result<MessagesSent>& sent) {
                   if (!sent) return (*later)(std::unexpected(fault_for(protocol, sent.error())));
                   for (std::size_t i = 0; i < sent->messages.size(); ++i) {
                     add_sent(pending->answers[i], sent->messages[i], is_fifo);
                     pending->outcome.succeed(std::move(pending->answers[i]));
                   }
                   (*later)(std::move(pending->outcome).output());
                 });
}

void SqsApi::receive(const Call& call, Answered answered) {
  auto queue = queue_of(call);
  if (!queue) return answered(std::unexpected(std::move(queue.error())));
  auto wanted = wanted_attributes(call.input);
  if (!wanted) return answered(std::unexpected(std::move(wanted.error())));
  auto asked = receive_command(call.input);
  if (!asked) return answered(std::unexpected(std::move(asked.error())));
  asked->stream = (*queue)->name;
  asked->holder = call.asker.caller.attempt;
  MessageExchange::WhenLeaves when_leaves;
  if (asked->wait_ms.value_or((*queue)->receive_wait_ms) > 0) when_leaves = call.when_client_leaves;
  messages_.receive(
      std::move(*asked), call.asker.holder, call.resume, when_leaves,
      [this, wanted = std::move(*wanted), protocol = call.protocol,
       place = QueuePlace{account(), call.region, (*queue)->fifo},
       later = std::make_shared<Answered>(std::move(answered))](const Result<std::vector<DeliveredMessage>>& received) {
        if (!received) return (*later)(std::unexpected(fault_for(protocol, received.error())));
        // Clients expect no list rather than an empty one.
        if (received->empty()) return (*later)(json::object());
        json::array messages = messages_json(*received, wanted, place);
        json::object out(messages.storage());
        out["Messages"] = std::move(messages);
        (*later)(std::move(out));
      });
}

}  // namespace drover::aws
