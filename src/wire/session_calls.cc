#include "wire/session_calls.h"

#include <utility>

namespace drover {

Report to_report(AgentReport said, WorkerId worker, std::uint64_t incarnation) {
  return {.worker = worker,
          .incarnation = incarnation,
          .ended = std::move(said.ended),
          .running = std::move(said.running),
          .returned = std::move(said.returned),
          .notes = std::move(said.notes),
          .leaving = said.leaving};
}

Poll to_poll(const PollCall& call) {
  return {.report = {},
          .number = call.poll.number,
          .given_up = call.poll.given_up,
          .want = call.poll.want,
          .wait_ms = call.wait_ms,
          .room = call.poll.room,
          .not_now = call.poll.not_now};
}

RegisterWorker to_command(const WorkerHello& hello, std::int64_t term_ms, const std::string& fleet) {
  const auto some = [](std::uint64_t said) { return said == 0 ? Resources::kEndless : said; };
  return {.name = hello.name,
          .incarnation = hello.incarnation,
          .term_ms = term_ms,
          .has = {some(hello.has.milli_cpus), some(hello.has.memory_bytes), hello.has.accelerators},
          .labels = hello.labels,
          .fleet = fleet};
}

}  // namespace drover
