// The server's own log: lines for people, or JSON for programs. Never a secret in it: nobody hands it one.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "engine/system_clock.h"

namespace drover {

/// A request and what became of it.
struct RequestLine {
  std::string id;
  std::string peer;
  std::string method;
  std::string path;    // without the query
  std::string key_id;  // empty: it came with none, or a wrong one
  std::int64_t begun_ns = 0;
  int status = 0;

  bool failed() const { return status >= 400; }
};

class ServerLog {
 public:
  enum class Form : std::uint8_t { text, json };

  explicit ServerLog(Form form) : form_(form) {}
  void info(std::string_view message) { write("info", message); }
  void warning(std::string_view message) { write("warning", message); }
  void error(std::string_view message) { write("error", message); }
  void request(const RequestLine& line);

 private:
  void write(std::string_view level, std::string_view message, const RequestLine* request = nullptr);

  const Form form_;
  SystemSteadyClock steady_;
  std::mutex mutex_;  // one line at a time
};

}  // namespace drover
