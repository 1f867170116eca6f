// With an init, that one is started, finds no command, and says so on stderr. In a container that runs already, the
// daemon writes what the runtime told it to stdout. Both then exit with 126 or 127, as a shell would.
#include "run/docker/start_failure.h"

namespace drover {
namespace {

constexpr std::string_view kInit = "[FATAL tini (";
constexpr std::string_view kInitExec = ")] exec ";
constexpr std::string_view kInitFailed = " failed: ";
constexpr std::string_view kRuntime = "OCI runtime exec failed: ";
constexpr std::size_t kLongest = 8 << 10;

std::string_view trimmed(std::string_view text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

std::string_view marker(LogStream stream) {
  return stream == LogStream::err ? kInit : kRuntime;
}

}  // namespace

bool may_be_start_failure(LogStream stream, std::string_view output) {
  const std::string_view begin = marker(stream).substr(0, output.size());
  return output.size() < kLongest && output.starts_with(begin) && trimmed(output).find('\n') == std::string_view::npos;
}

std::string start_failure(LogStream stream, std::string_view output, int exit_code) {
  if ((exit_code != 126 && exit_code != 127) || !output.starts_with(marker(stream))) return {};
  if (!may_be_start_failure(stream, output)) return {};
  const std::string_view line = trimmed(output);
  if (stream == LogStream::out) return without_layers(line);
  const std::size_t exec = line.find(kInitExec);
  const std::size_t failed = line.rfind(kInitFailed);
  if (exec == std::string_view::npos || failed == std::string_view::npos || failed < exec) return {};
  const std::string_view command = line.substr(exec + kInitExec.size(), failed - exec - kInitExec.size());
  return std::string(command) + ": " + std::string(line.substr(failed + kInitFailed.size()));
}

std::string without_layers(std::string_view message) {
  for (const std::string_view layer : {"unable to start container process: ", "starting container process caused: "}) {
    if (const std::size_t at = message.rfind(layer); at != std::string_view::npos) {
      message.remove_prefix(at + layer.size());
    }
  }
  message = trimmed(message);
  if (message.ends_with(": unknown")) message.remove_suffix(std::string_view(": unknown").size());
  return std::string(message);
}

}  // namespace drover
