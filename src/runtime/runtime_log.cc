#include "runtime/runtime_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <ctime>

#include "base/text.h"
#include "wire/json_text.h"

namespace drover {
namespace {

std::string time_now() {
  const std::time_t now = ::time(nullptr);
  std::tm parts{};
  char text[40];
  ::gmtime_r(&now, &parts);
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string log_line(bool is_json, std::string_view level, std::string_view message) {
  if (is_json) {
    return concat("{\"level\":\"", level, "\",\"msg\":", json_quoted(message), ",\"time\":\"", time_now(), "\"}\n");
  }
  return concat("time=\"", time_now(), "\" level=", level, " msg=", json_quoted(message), "\n");
}

void append_line(const std::string& path, const std::string& line) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, line.data(), line.size());
  ::close(file);
}

}  // namespace

void RuntimeLog::write(std::string_view level, std::string_view message) const {
  if (!path_.empty()) append_line(path_, log_line(false, level, message));
}

void report_error(const RuntimeCall& call, const Error& error) {
  const std::string message = concat("drover-runtime: ", error.message, error.next.empty() ? "" : "; ", error.next);
  if (!call.log.empty()) append_line(call.log, log_line(call.logs_json, "error", message));
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, (message + "\n").data(), message.size() + 1);
}

}  // namespace drover
