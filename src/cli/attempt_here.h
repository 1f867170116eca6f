// One attempt on this machine, outside any queue: somebody waits for it at a terminal, and nothing of it is recorded.
#pragma once

#include <unistd.h>

#include <cstdint>

#include "base/result.h"
#include "cli/item_here.h"
#include "cli/user_terminal.h"
#include "ports/runner.h"
#include "run/docker/docker_runner.h"

namespace drover {

/// How long it may take, and where its standard output goes.
struct AttemptRules {
  std::int64_t timeout_ms = 0;    // 0: as long as it likes
  std::int64_t grace_ms = 5'000;  // from SIGTERM to SIGKILL
  int output = STDOUT_FILENO;
};

/// How it ended, in an attempt's words and as an exit status.
struct AttemptEnd {
  Outcome outcome;
  int exit_status = 0;
};

/// What it prints goes to our own standard output and error. SIGINT, SIGTERM and SIGHUP stop it: gently, then, if they
/// come again, at once.
Result<AttemptEnd> run_here(Runner& runner, const ReadyTask& ready, const AttemptRules& rules);

/// The same with a terminal of its own, joined to the user's. Signals end it at once.
Result<AttemptEnd> run_in_terminal(Runner& runner, ReadyTask ready, UserTerminal& terminal);

/// The same by way of Docker, which makes the terminal itself.
Result<AttemptEnd> run_in_terminal(DockerRunner& docker, const ReadyTask& ready, UserTerminal& terminal);

/// As a shell has it: 128 and the signal; 127 for what could not be started; 124 for what took too long.
int exit_status_of(const Outcome& outcome);

}  // namespace drover
