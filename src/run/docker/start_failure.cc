// With an init, that one is started, finds no command, and says so on stderr. In a container that runs already, the
// daemon writes what the runtime told it to stdout. Both then exit with 126 or 127, as a shell would.
#include "run/docker/start_failure.h"

#include "base/text.h"

namespace drover {
namespace {

constexpr std::string_view kInit = "[FATAL tini (";
constexpr std::string_view kInitExec = ")] exec ";
constexpr std::string_view kRuntime = "OCI runtime exec failed: ";
constexpr std::size_t kLongest = 8 << 10;

std::string_view without_line_ends(std::string_view text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

std::string_view marker(LogStream stream) {
  return stream == LogStream::err ? kInit : kRuntime;
}

/// Without the names of the layers that it came through.
std::string_view innermost(std::string_view message) {
  for (const std::string_view layer : {"unable to start container process: ", "starting container process caused: "}) {
    if (const std::size_t at = message.rfind(layer); at != std::string_view::npos) {
      message.remove_prefix(at + layer.size());
    }
  }
  message = without_line_ends(message);
  if (message.ends_with(": unknown")) message.remove_suffix(std::string_view(": unknown").size());
  return message;
}

bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> ends) {
  for (const std::string_view end : ends) {
    if (text.ends_with(end)) return true;
  }
  return false;
}

}  // namespace

bool may_be_start_failure(LogStream stream, std::string_view output) {
  const std::string_view begin = marker(stream).substr(0, output.size());
  return output.size() < kLongest && output.starts_with(begin) &&
         without_line_ends(output).find('\n') == std::string_view::npos;
}

std::string_view start_failure(LogStream stream, std::string_view output, int exit_code) {
  if ((exit_code != 126 && exit_code != 127) || !output.starts_with(marker(stream))) return {};
  if (!may_be_start_failure(stream, output)) return {};
  if (stream == LogStream::err && output.find(kInitExec) == std::string_view::npos) return {};
  return without_line_ends(output);
}

std::string why_not_started(std::string_view program, std::string_view message) {
  const std::string_view why = innermost(message);
  std::string begin = concat("could not start ", program.empty() ? "the image's own command" : program, ": ");
  if (ends_with_any(why,
                    {"executable file not found in $PATH", "No such file or directory", "no such file or directory"}) &&
      (why.starts_with("exec: ") || why.starts_with(kInit))) {
    const bool is_path = program.find('/') != std::string_view::npos;
    return begin + (is_path ? "No such file or directory" : "not found in the container's PATH");
  }
  if (ends_with_any(why, {"ermission denied"}) && (why.starts_with("exec: ") || why.starts_with(kInit))) {
    return begin + "Permission denied";
  }
  return begin.append(why);
}

}  // namespace drover
