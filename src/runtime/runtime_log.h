// Where the runtime says what it did, and what went wrong.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/runtime_call.h"

namespace drover {

/// The log file of config.toml. It never fails a container.
class RuntimeLog {
 public:
  explicit RuntimeLog(const AccelSettings& settings) : path_(settings.log), has_details_(settings.logs_details) {}

  bool has_details() const { return has_details_ && !path_.empty(); }
  void info(std::string_view message) const { write("info", message); }
  void warning(std::string_view message) const { write("warning", message); }
  void debug(std::string_view message) const {
    if (has_details_) write("debug", message);
  }

 private:
  void write(std::string_view level, std::string_view message) const;

  std::string path_;
  bool has_details_;
};

/// Tells the error where the caller looks for it: the last line of the file that --log names, as containerd and Docker
/// read it, and standard error.
void report_error(const RuntimeCall& call, const Error& error);

}  // namespace drover
