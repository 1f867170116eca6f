// Messages: sent to a stream, received from it, and deleted by those who received them.
#include "api/json_reply.h"
#include "api/native/native.h"
#include "api/problem.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "ports/entropy.h"
#include "wire/body_fields.h"
#include "wire/message_json.h"
#include "wire/stream_json.h"
#include "wire/views.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::size_t kMostReceipts = 500;

/// What a list of receipts says. The first that is malformed is the answer.
BodyFields::Read receipts_list(std::vector<Receipt>& out) {
  return [&out](const json::value& value) -> std::string {
    if (!value.is_array()) return "must be a list of receipts";
    if (value.get_array().size() > kMostReceipts) return concat("has more than ", kMostReceipts, " receipts");
    for (const json::value& it : value.get_array()) {
      const auto receipt = it.is_string() ? receipt_from(std::string_view(it.get_string())) : std::nullopt;
      if (!receipt) return concat("contains an invalid receipt: ", json::serialize(it));
      out.push_back(*receipt);
    }
    return {};
  };
}

BodyFields::Read time_up_to(std::int64_t most_ms, std::string_view bound, std::optional<std::int64_t>& out) {
  return [=, &out](const json::value& value) -> std::string {
    auto read = parse_duration_ms(BodyFields::measure_in(value));
    if (!read || *read > most_ms) return concat("must be a time from 0s to ", bound);
    out = *read;
    return {};
  };
}

Result<void> require_receipts(const std::vector<Receipt>& receipts) {
  if (!receipts.empty()) return {};
  return fail(ErrorCode::bad_input, "field 'receipts' is missing or empty",
              R"(send {"receipts": ["3-8192-1"]}; each message that was received has one)");
}

HttpResponse outcomes_response(const std::vector<Receipt>& receipts, const std::vector<ReceiptOutcome>& outcomes) {
  json::array out;
  std::uint64_t done = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i] == ReceiptOutcome::done) ++done;
    out.push_back(json::object{{"receipt", receipt_text(receipts[i])}, {"outcome", to_string(outcomes[i])}});
  }
  return json_response(200, json::object{{"done", done}, {"outcomes", std::move(out)}});
}

json::object delivered_json(const DeliveredMessage& it) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? json::value(nullptr) : json::value(utf8(text));
  };
  json::object out{{"id", it.content->id.text()},
                   {"receipt", receipt_text(it.receipt)},
                   {"attributes", attributes_to_json(it.content->attributes)},
                   {"sent_ms", it.content->sent_ms},
                   {"sender", text_or_null(it.content->sender)},
                   {"receives", it.receives},
                   {"first_received_ms", it.first_received_ms},
                   {"group", text_or_null(it.content->group)},
                   {"deduplication", text_or_null(it.content->deduplication)},
                   {"dead_letter_of", text_or_null(it.dead_letter_of)}};
  put_bytes(out, "body", it.content->body);
  return out;
}

}  // namespace

// All of them, or none.
void NativeApi::send_messages(Asked asked, HttpReply reply) {
  const std::string& name = asked.parts[0];
  auto found = backend_.ledger().stream(name);
  if (!found) return reply.send(problem(found.error()));
  const std::optional<Stream>& stream = *found;
  if (!stream) return reply.send(problem(no_such_stream(name)));
  auto drafts = messages_from_json(asked.request.body);
  if (!drafts) return reply.send(problem(drafts.error()));
  if (drafts->empty()) {
    return reply.send(
        problem({ErrorCode::bad_input, "the request has no messages", R"(send [{"body": "some text"}])"}));
  }
  const std::int64_t now_ms = about_.now_ms();
  std::vector<OutgoingMessage> messages;
  messages.reserve(drafts->size());
  for (MessageDraft& draft : *drafts) {
    if (auto fits = check_message(*stream, draft); !fits) {
      Error error = fits.error();
      error.message = concat("message ", messages.size() + 1, ": ", error.message);
      return reply.send(problem(error));
    }
    const std::uint64_t bytes = draft.bytes();
    messages.push_back({.content = {.id = random_uuid(),
                                    .sender = asked.asker.caller.key_id,
                                    .sent_ms = now_ms,
                                    .body = std::move(draft.body),
                                    .attributes = std::move(draft.attributes),
                                    .group = std::move(draft.group),
                                    .deduplication = std::move(draft.deduplication)},
                        .bytes = bytes,
                        .delay_ms = draft.delay_ms});
  }
  const auto shared = std::make_shared<HttpReply>(std::move(reply));
  messages_.send(name, std::move(messages), resume_of(shared), [reply = shared](const Result<MessagesSent>& sent) {
    if (!sent) return reply->send(problem(sent.error()));
    json::array out;
    for (const MessagesSent::One& it : sent->messages) {
      out.push_back(json::object{{"id", it.id.text()}, {"duplicate", it.is_duplicate}});
    }
    reply->send(json_response(200, json::object{{"messages", std::move(out)}}));
  });
}

void NativeApi::receive_messages(Asked asked, HttpReply reply) {
  ReceiveMessages command{.stream = asked.parts[0]};
  BodyFields fields;
  fields.add("max", BodyFields::whole(1, kMostReceivedAtOnce, command.most));
  fields.add("visibility", time_up_to(kLongestVisibilityMs, "12h", command.visibility_ms));
  fields.add("wait", time_up_to(kLongestReceiveWaitMs, "20s", command.wait_ms));
  if (auto read = fields.read(asked.request.body, "the receive"); !read) return reply.send(problem(read.error()));
  const auto shared = std::make_shared<HttpReply>(std::move(reply));
  messages_.receive(
      std::move(command), asked.asker.holder, resume_of(shared),
      [shared](std::function<void()> call) { shared->when_peer_leaves(std::move(call)); },
      [this, stream = asked.parts[0], reply = shared](const Result<std::vector<DeliveredMessage>>& received) {
        if (!received) return reply->send(problem(received.error()));
        if (reply->peer_is_gone()) give_back(stream, *received);
        json::array out;
        for (const DeliveredMessage& it : *received) out.push_back(delivered_json(it));
        reply->send(json_response(200, json::object{{"messages", std::move(out)}}));
      });
}

// Whoever has hung up would otherwise hide them from others until the visibility timeout.
void NativeApi::give_back(const std::string& stream, const std::vector<DeliveredMessage>& messages) {
  if (messages.empty()) return;
  SetVisibility command{.stream = stream, .messages = {}};
  for (const DeliveredMessage& it : messages) command.messages.push_back({it.receipt, 0});
  backend_.post(std::move(command), [](const Result<Effect>&) {});
}

void NativeApi::delete_messages(Asked asked, HttpReply reply) {
  DeleteMessages command{.stream = asked.parts[0], .receipts = {}};
  BodyFields fields;
  fields.add("receipts", receipts_list(command.receipts));
  auto read = fields.read(asked.request.body, "the list of receipts");
  if (read) read = require_receipts(command.receipts);
  if (!read) return reply.send(problem(read.error()));
  std::vector<Receipt> receipts = command.receipts;
  backend_.post(std::move(command),
                [this, receipts = std::move(receipts),
                 reply = std::make_shared<HttpReply>(std::move(reply))](const Result<Effect>& effect) {
                  if (!effect) return reply->send(problem(effect.error()));
                  const std::vector<ReceiptOutcome>& outcomes = std::get<MessagesDeleted>(*effect).outcomes;
                  messages_.forget_deleted(receipts, outcomes);
                  reply->send(outcomes_response(receipts, outcomes));
                });
}

void NativeApi::set_visibility(Asked asked, HttpReply reply) {
  std::vector<Receipt> receipts;
  std::optional<std::int64_t> visibility_ms;
  BodyFields fields;
  fields.add("receipts", receipts_list(receipts));
  fields.add("visibility", time_up_to(kLongestVisibilityMs, "12h", visibility_ms));
  auto read = fields.read(asked.request.body, "the change of visibility");
  if (read) read = require_receipts(receipts);
  if (!read) return reply.send(problem(read.error()));
  if (!visibility_ms) {
    return reply.send(
        problem({ErrorCode::bad_input, "field 'visibility' is missing",
                 "say for how long the messages shall be hidden from now on, such as \"2m\"; 0 shows them again"}));
  }
  SetVisibility command{.stream = asked.parts[0], .messages = {}};
  for (const Receipt& it : receipts) command.messages.push_back({it, *visibility_ms});
  backend_.post(std::move(command),
                [receipts, reply = std::make_shared<HttpReply>(std::move(reply))](const Result<Effect>& effect) {
                  reply->send(effect ? outcomes_response(receipts, std::get<VisibilitySet>(*effect).outcomes)
                                     : problem(effect.error()));
                });
}

}  // namespace drover
