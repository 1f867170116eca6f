#include "run/docker/owner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "base/text.h"

namespace drover {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// In clock ticks since the machine started; empty: there is no such process.
std::string start_time_of(std::string_view pid) {
  constexpr int kStartTime = 20;  // fields after the name, which may hold anything
  const std::string text = read_file(concat("/proc/", pid, "/stat"));
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < kStartTime; ++i) fields >> field;
  return field;
}

std::string pid_namespace() {
  struct stat info{};
  return ::stat("/proc/self/ns/pid", &info) == 0 ? std::to_string(info.st_ino) : std::string("0");
}

std::string boot_id() {
  std::string id = read_file("/proc/sys/kernel/random/boot_id");
  std::erase_if(id, [](char c) { return c == '-' || c == '\n'; });
  return id;
}

}  // namespace

std::string this_owner() {
  const std::string pid = std::to_string(::getpid());
  return concat(pid, "-", start_time_of(pid), "-", pid_namespace(), "-", boot_id());
}

OwnerState state_of_owner(std::string_view owner) {
  std::vector<std::string> parts;
  std::istringstream in{std::string(owner)};
  for (std::string part; std::getline(in, part, '-');) parts.push_back(part);
  constexpr std::size_t kParts = 4;
  if (parts.size() != kParts || parts[0].find_first_not_of("0123456789") != std::string::npos) {
    return OwnerState::unknown;
  }
  if (parts[3] != boot_id()) return OwnerState::before_reboot;
  if (parts[2] != pid_namespace()) return OwnerState::unknown;
  return start_time_of(parts[0]) == parts[1] ? OwnerState::alive : OwnerState::dead;
}

}  // namespace drover
