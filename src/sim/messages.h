// What passes between workers and server, as the bytes of the worker protocol. What the bytes say is made by the code
// that ships (wire/session_calls.h, wire/worker_protocol.h); here is only what HTTP does around it.
#pragma once

#include <cstdint>
#include <string>

#include "agent/server_session.h"
#include "base/result.h"
#include "core/command.h"
#include "wire/worker_protocol.h"

namespace drover::sim {

inline constexpr std::int64_t kTermMs = 60'000;
inline constexpr std::int64_t kPollWaitMs = 20'000;

/// The call's path, in HTTP's words.
enum class CallKind : std::uint8_t { hello, report, poll };

struct RequestBytes {
  CallKind kind = CallKind::hello;
  std::string body;
};

struct ReplyBytes {
  int status = 200;
  std::string body;
};

/// `who`: what a worker says of itself, but for its incarnation.
RequestBytes encode_call(const SessionCall& call, const WorkerHello& who);
/// `fleet`: whose key the worker has; empty: none's.
Result<Command> decode_call(const RequestBytes& request, const std::string& fleet);
ReplyBytes encode_effect(const Effect& effect);
/// A poll's answer, if the reply is one.
Result<WorkerPollAnswer> decode_answer(CallKind kind, const ReplyBytes& reply);
/// Tells the session what came back.
Result<void> deliver(ServerSession& session, std::uint64_t call, CallKind kind, const ReplyBytes& reply,
                     std::int64_t now_ms);

}  // namespace drover::sim
