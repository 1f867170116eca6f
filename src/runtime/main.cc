// drover-runtime: an OCI runtime for Docker, containerd and podman that gives containers the accelerators they ask for,
// and leaves everything else to runc or crun.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <span>

#include "base/text.h"
#include "runtime/edit_container.h"
#include "runtime/runtime_call.h"
#include "runtime/runtime_log.h"

namespace drover {
namespace {

constexpr const char* kHelp =
    "Usage: drover-runtime [OPTIONS] COMMAND...\n"
    "\n"
    "Takes the commands of runc. create and run first give the container the GPUs and Neuron devices that it asks "
    "for;\n"
    "every command then runs runc, or crun, with the same words.\n"
    "\n"
    "Options, before the command:\n"
    "  --config FILE            settings (default: /etc/nvidia-container-runtime/config.toml)\n"
    "  --runtime-path PROGRAM   the runtime below (default: the first of runc and crun that is installed)\n"
    "  --vendor NAME            look for devices of nvidia, neuron or any (default: any)\n"
    "  --hook-config-path FILE  add the hooks in this JSON file to the container (repeatable)\n"
    "  --help-drover            show this text; --help is that of the runtime below\n"
    "\n"
    "Example:\n"
    "  drover-runtime --vendor nvidia create --bundle /run/bundle NAME\n";

Result<void> run_below(const RuntimeCall& call) {
  const std::string path = call.settings.empty() ? settings_path() : call.settings;
  auto settings = read_accel_settings(path, !call.settings.empty());
  if (!settings) return pass(settings);
  const RuntimeLog log(*settings);
  auto runtime = find_runtime_below(call, *settings);
  if (!runtime) return pass(runtime);
  if (call.makes_container()) {
    if (auto edited = edit_container(call, *settings, log); !edited) return edited;
  }
  if (log.has_details()) {
    std::string words = *runtime;
    for (const std::string& word : call.forwarded) words += concat(" ", word);
    log.debug(words);
  }
  std::vector<char*> words = {runtime->data()};
  for (const std::string& word : call.forwarded) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execv(runtime->c_str(), words.data());
  return std::unexpected(errno_error(errno, concat("cannot run ", *runtime)));
}

int runtime_main(std::span<const char* const> words) {
  auto call = parse_runtime_call(words);
  if (!call) {
    report_error({}, call.error());
    return 1;
  }
  if (call->wants_help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  const auto failed = run_below(*call);
  report_error(*call, failed.error());
  return 1;
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  return drover::runtime_main(
      std::span<const char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)));
}
