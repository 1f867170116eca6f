// Streams: what there is, and how each behaves.
#include "api/json_reply.h"
#include "api/native/native.h"
#include "api/problem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "wire/stream_json.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::uint64_t kMostStreamsListed = 100;  // more are not looked at with one command
// Somebody else changes the stream at the same moment, again and again.
constexpr int kMostChanges = 20;

}  // namespace

/// A change that is made again from what is there, as long as others change it meanwhile.
struct NativeApi::StreamChange {
  Asked asked;
  HttpReply reply;
  int changes = 0;

  const std::string& name() const { return asked.parts[0]; }
};

void NativeApi::list_streams(Asked asked, HttpReply reply) {
  auto limit = asked.number("limit", 100, 1, kMostStreamsListed);
  if (!limit) return reply.send(problem(limit.error()));
  const std::string* after = asked.parameter("after");
  backend_.post(AskStreams{.stream = {}, .after = after == nullptr ? "" : *after, .most = *limit},
                [limit = *limit, reply = std::make_shared<HttpReply>(std::move(reply))](const Result<Effect>& effect) {
                  if (!effect) return reply->send(problem(effect.error()));
                  const std::vector<StreamView>& streams = std::get<StreamsNow>(*effect).streams;
                  json::array out;
                  for (const StreamView& it : streams) out.push_back(stream_to_json(it));
                  json::value next = nullptr;
                  if (streams.size() == limit) next = streams.back().stream.name;
                  reply->send(json_response(200, json::object{{"streams", std::move(out)}, {"next", std::move(next)}}));
                });
}

void NativeApi::answer_with_stream(const std::string& name, HttpReply reply) {
  backend_.post(AskStreams{.stream = name},
                [reply = std::make_shared<HttpReply>(std::move(reply))](const Result<Effect>& effect) {
                  if (!effect) return reply->send(problem(effect.error()));
                  reply->send(json_response(200, stream_to_json(std::get<StreamsNow>(*effect).streams.front())));
                });
}

void NativeApi::show_stream(Asked asked, HttpReply reply) {
  answer_with_stream(asked.parts[0], std::move(reply));
}

void NativeApi::set_stream(Asked asked, HttpReply reply) {
  if (auto valid = check_stream_name(asked.parts[0]); !valid) return reply.send(problem(valid.error()));
  change_stream(std::make_shared<StreamChange>(std::move(asked), std::move(reply)));
}

// What is not said stays as it is, or is usual for a new one.
void NativeApi::change_stream(const std::shared_ptr<StreamChange>& change) {
  auto found = backend_.ledger().stream(change->name());
  if (!found) return change->reply.send(problem(found.error()));
  const std::optional<Stream>& known = *found;
  StreamSpec spec;
  if (known) {
    spec = *known;
  } else {
    spec.name = change->name();
    spec.owner = change->asked.asker.owner();
  }
  auto settings = stream_from_json(change->asked.request.body, std::move(spec));
  if (!settings) return change->reply.send(problem(settings.error()));
  const std::string& dead_letters = settings->spec.dead_letters;
  if (!dead_letters.empty() && (!known || dead_letters != known->dead_letters)) {
    auto target = backend_.ledger().stream(dead_letters);
    if (!target) return change->reply.send(problem(target.error()));
    if (!*target) {
      return change->reply.send(
          problem({ErrorCode::not_found, concat("stream '", dead_letters, "' for dead letters not found"),
                   concat("create it first: drover stream create ", dead_letters)}));
    }
  }
  const std::uint64_t version = known ? known->version : 0;
  const bool is_callers_version = settings->version.has_value();
  SetStream command{.spec = std::move(settings->spec), .version = settings->version.value_or(version)};
  backend_.post(std::move(command), [this, change, is_callers_version](const Result<Effect>& effect) {
    if (effect) return answer_with_stream(change->name(), std::move(change->reply));
    const bool may_try_again = effect.error().code == ErrorCode::conflict && !is_callers_version;
    if (!may_try_again || ++change->changes == kMostChanges) return change->reply.send(problem(effect.error()));
    backend_.later(change->asked.asker.holder, [this, change] { change_stream(change); });
  });
}

void NativeApi::drop_stream(Asked asked, HttpReply reply) {
  answer_done(DropStream{asked.parts[0]}, {{"name", utf8(asked.parts[0])}}, std::move(reply));
}

void NativeApi::purge_stream(Asked asked, HttpReply reply) {
  answer_done(PurgeStream{asked.parts[0]}, {{"name", utf8(asked.parts[0])}}, std::move(reply));
}

}  // namespace drover
