// Running another program and watching it: what it says is kept, and it goes when nobody waits for it, when it makes no
// headway, and when we are gone.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace drover {

struct ChildProgram {
  std::vector<std::string> words;        // the first is looked for in PATH
  std::string folder;                    // to run in; empty: ours
  std::vector<std::string> environment;  // NAME=VALUE on top of ours
};

struct ChildWatch {
  std::int64_t stall_ms = 60'000;
  std::function<std::uint64_t()> headway;  // called often; when its value changes, time begins anew. May be empty
  std::uint64_t most = UINT64_MAX;         // beyond this value it has gone too far
  std::stop_token stop;
};

struct ChildEnd {
  enum class How : std::uint8_t { exited, signalled, stalled, overran, cancelled, not_started };

  How how = How::not_started;
  int number = 0;  // the exit code, the signal, or the errno
  std::string out;
  std::string err;
};

/// Blocks. No shell; a process group of its own, killed as one.
ChildEnd run_child(const ChildProgram& program, const ChildWatch& watch);

}  // namespace drover
