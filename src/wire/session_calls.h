// What a worker's session says, as the commands that its server applies. The worker, the server and the simulator use
// these, so that nothing a session says is left out on one of the ways.
#pragma once

#include <cstdint>

#include "agent/server_session.h"
#include "core/command.h"
#include "wire/worker_protocol.h"

namespace drover {

Report to_report(AgentReport said, WorkerId worker, std::uint64_t incarnation);
/// The poll without its report, which follows when the frames of its logs are known.
Poll to_poll(const PollCall& call);
/// A worker that does not say how many CPUs or how much memory it has is given whatever it wants.
/// Its fleet is not its own to say: the key that it calls with does.
RegisterWorker to_command(const WorkerHello& hello, std::int64_t term_ms, const std::string& fleet);

}  // namespace drover
