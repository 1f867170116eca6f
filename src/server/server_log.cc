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

void ServerLog::write(std::string_view level, std::string_view message) {
  std::string line;
  if (form_ == Form::json) {
    line = boost::json::serialize(
        boost::json::object{{"time", time_text()}, {"level", level}, {"message", utf8(message)}});
  } else {
    line = concat(time_text(), " ", level, " ", utf8(message));
  }
  line += '\n';
  const std::scoped_lock lock(mutex_);
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace drover
