#include "server/server_log.h"

#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "base/text.h"
#include "base/utf8.h"

namespace drover {
namespace {

std::string time_text() {
  const auto now = std::chrono::system_clock::now();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  const std::time_t seconds = ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  char fraction[8];
  std::snprintf(fraction, sizeof fraction, ".%03dZ", static_cast<int>(ms % 1000));
  return std::string(text, size) + fraction;
}

// A client chooses these, and may choose megabytes.
constexpr std::size_t kLongestPath = 256;
constexpr std::size_t kLongestMethod = 16;

std::string cut(std::string_view text, std::size_t most) {
  return text.size() <= most ? std::string(text) : concat(text.substr(0, most), "…");
}

}  // namespace

ServerLog::ServerLog(Form form, int fd)
    : form_(form), lines_(fd, [this](std::uint64_t count) {
        const std::string_view what = count == 1 ? " log entry was dropped" : " log entries were dropped";
        return entry("warning", concat(count, what, ": standard error was not read"), nullptr);
      }) {}

void ServerLog::request(const RequestLine& given) {
  RequestLine line = given;
  line.path = cut(given.path, kLongestPath);
  line.method = cut(given.method, kLongestMethod);
  const std::int64_t took_ms = (steady_.elapsed_ns() - line.begun_ns) / 1'000'000;
  write(line.status >= 500 ? "error" : "info",
        concat(line.peer, " ", line.method, " ", line.path, " ", line.status, " in ", took_ms, " ms",
               line.key_id.empty() ? "" : concat(" key=", line.key_id), " request=", line.id),
        &line);
}

void ServerLog::write(std::string_view level, std::string_view message, const RequestLine* request) {
  lines_.write(entry(level, message, request));
}

std::string ServerLog::entry(std::string_view level, std::string_view message, const RequestLine* request) const {
  if (form_ == Form::text) return concat(time_text(), " ", level, " ", utf8(message), "\n");
  boost::json::object out{{"time", time_text()}, {"level", level}, {"message", utf8(message)}};
  if (request != nullptr) {
    out["request_id"] = request->id;
    out["peer"] = utf8(request->peer);
    out["method"] = utf8(request->method);
    out["path"] = utf8(request->path);
    out["status"] = request->status;
    out["key"] = request->key_id;
  }
  return concat(boost::json::serialize(out), "\n");
}

}  // namespace drover
