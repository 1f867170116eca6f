// What passes between workers and server, as the bytes of the worker protocol.
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

/// The reply's status, in HTTP's words.
enum class ReplyStatus : std::uint8_t { ok, not_registered, replaced, refused };

struct ReplyBytes {
  ReplyStatus status = ReplyStatus::ok;
  std::string body;
};

/// `who`: what a worker says of itself, but for its incarnation.
RequestBytes encode_call(const SessionCall& call, const WorkerHello& who);
Result<Command> decode_call(const RequestBytes& request);
ReplyBytes encode_effect(const Effect& effect, bool drain);
/// Tells the session what came back.
Result<void> deliver(ServerSession& session, std::uint64_t call, CallKind kind, const ReplyBytes& reply,
                     std::int64_t now_ms);

}  // namespace drover::sim
