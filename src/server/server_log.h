// The server's own log: lines for people, or JSON for programs. Never a secret in it: nobody hands it one. Writing to
// it never waits for its reader.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/system_clock.h"
#include "notices/background_lines.h"

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

  explicit ServerLog(Form form, int fd = STDERR_FILENO);
  void info(std::string_view message) { write("info", message); }
  void warning(std::string_view message) { write("warning", message); }
  void error(std::string_view message) { write("error", message); }
  void request(const RequestLine& line);
  /// Entries that were dropped because nobody read them.
  std::uint64_t dropped() const { return lines_.dropped(); }

 private:
  void write(std::string_view level, std::string_view message, const RequestLine* request = nullptr);
  std::string entry(std::string_view level, std::string_view message, const RequestLine* request) const;

  const Form form_;
  SystemSteadyClock steady_;
  BackgroundLines lines_;
};

}  // namespace drover
