// What `drover doctor` and `drover accel check` find out, one line each. One file for what belongs together:
// doctor_machine.cc, doctor_containers.cc, doctor_folder.cc, doctor_server.cc, doctor_accelerators.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/server_client.h"
#include "cli/verb.h"

namespace drover {

struct AccelSettings;

enum class CheckVerdict : std::uint8_t {
  ok,
  warning,  // works, but not as well as it could
  problem,  // something will not work
};
std::string_view to_string(CheckVerdict verdict);

struct Check {
  std::string_view about;  // "kernel"
  CheckVerdict verdict = CheckVerdict::ok;
  std::string text;  // what is so, and for a warning or problem what comes of it
  std::string next;  // what to do about it; empty if it is ok
};

/// Kernel, cgroups, limits, clocks, shared memory.
std::vector<Check> check_machine();
/// Whether items can run in containers here, with the data in this folder.
std::vector<Check> check_containers(const std::string& root);
/// The data folder: the disk it is on, who holds what in it, whether ledgers are whole.
std::vector<Check> check_folder(const std::string& root);
/// Drivers, libraries and devices of accelerators.
std::vector<Check> check_accelerators(const AccelSettings& settings);
/// The way to a server, step by step, and what it says. Empty: there is no server in question.
std::vector<Check> check_server(const CommonFlags& common, const ServerFlags& flags);

}  // namespace drover
