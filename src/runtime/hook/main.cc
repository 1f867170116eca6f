// drover-hook: what OCI runtimes call for a container that drover-runtime has edited. It obeys no variable of the
// environment, and executes nothing.
#include <unistd.h>

#include <cstdio>
#include <span>
#include <string>

#include "base/text.h"
#include "runtime/prepare_container.h"

namespace drover {
namespace {

constexpr const char* kHelp =
    "Usage: drover-hook prepare [--link TARGET::PATH]... [--library PATH]... [--keep-device-nodes] < STATE\n"
    "\n"
    "Makes symlinks in a container, and makes libraries known to its dynamic linker. drover-runtime and the CDI files "
    "of\n"
    "drover accel cdi name it as a createContainer hook; the container's state comes on standard input.\n"
    "\n"
    "Under the name nvidia-container-runtime-hook it is what dockerd looks for to allow docker run --gpus: see\n"
    "drover accel install --docker.\n";

void say(const std::string& text) {
  const std::string line = concat("drover-hook: ", text, "\n");
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

std::string standard_input() {
  std::string text;
  char part[16384];
  for (ssize_t got = 0; (got = ::read(STDIN_FILENO, part, sizeof(part))) > 0;) {
    text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

Result<void> prepare(std::span<const char* const> words) {
  const auto what = parse_preparation(words);
  if (!what) return std::unexpected(what.error());
  const auto path = container_root(standard_input());
  if (!path) return std::unexpected(path.error());
  const auto root = RootFolder::open(*path);
  if (!root) return std::unexpected(root.error());
  std::vector<std::string> notices;
  const auto done = prepare_container(*root, *what, notices);
  for (const std::string& notice : notices) say(notice);
  return done;
}

/// dockerd put the hook there for --gpus, and no runtime that knows GPUs took it out.
int refuse_stage(std::string_view stage) {
  if (stage != "prestart") return 0;
  say("docker run --gpus needs a runtime that gives containers their GPUs, and this container has another one; add "
      "--runtime=nvidia, or make it the default: drover accel install --docker --default");
  return 1;
}

int hook_main(std::string_view program, std::span<const char* const> words) {
  const std::string_view name = program.substr(program.rfind('/') + 1);
  const std::string_view command = words.empty() ? std::string_view("--help") : std::string_view(words.back());
  if (name.starts_with("nvidia-container-")) return refuse_stage(command);
  if (words.empty() || std::string_view(words.front()) == "--help" || std::string_view(words.front()) == "-h") {
    std::fputs(kHelp, stdout);
    return words.empty() ? 2 : 0;
  }
  if (std::string_view(words.front()) != "prepare") {
    say(concat("unknown command '", words.front(), "'; see drover-hook --help"));
    return 2;
  }
  const auto done = prepare(words.subspan(1));
  if (done) return 0;
  say(concat(done.error().message, done.error().next.empty() ? "" : "; ", done.error().next));
  return 1;
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  const std::size_t count = argc > 0 ? static_cast<std::size_t>(argc - 1) : 0;
  return drover::hook_main(argc > 0 ? argv[0] : "", std::span<const char* const>(argv + 1, count));
}
