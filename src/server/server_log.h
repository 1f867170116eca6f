// The server's own log: lines for people, or JSON for programs. Never a secret in it: nobody hands it one.
#pragma once

#include <mutex>
#include <string_view>

namespace drover {

class ServerLog {
 public:
  enum class Form : std::uint8_t { text, json };

  explicit ServerLog(Form form) : form_(form) {}
  void info(std::string_view message) { write("info", message); }
  void warning(std::string_view message) { write("warning", message); }
  void error(std::string_view message) { write("error", message); }

 private:
  void write(std::string_view level, std::string_view message);

  const Form form_;
  std::mutex mutex_;  // one line at a time
};

}  // namespace drover
