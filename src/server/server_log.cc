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

}  // namespace

void ServerLog::request(const RequestLine& line) {
  const std::int64_t took_ms = (steady_.elapsed_ns() - line.begun_ns) / 1'000'000;
  write(line.status >= 500 ? "error" : "info",
        concat(line.peer, " ", line.method, " ", line.path, " ", line.status, " in ", took_ms, " ms",
               line.key_id.empty() ? "" : concat(" key=", line.key_id), " request=", line.id),
        &line);
}

void ServerLog::write(std::string_view level, std::string_view message, const RequestLine* request) {
  std::string line;
  if (form_ == Form::json) {
    boost::json::object out{{"time", time_text()}, {"level", level}, {"message", utf8(message)}};
    if (request != nullptr) {
      out["request_id"] = request->id;
      out["peer"] = utf8(request->peer);
      out["method"] = utf8(request->method);
      out["path"] = utf8(request->path);
      out["status"] = request->status;
      out["key"] = request->key_id;
    }
    line = boost::json::serialize(out);
  } else {
    line = concat(time_text(), " ", level, " ", utf8(message));
  }
  line += '\n';
  const std::scoped_lock lock(mutex_);
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace drover
