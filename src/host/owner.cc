#include "host/owner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <sstream>

#include "base/text.h"
#include "host/system_files.h"

namespace drover {
namespace {

/// When a process began; empty: there is none any more.
std::string start_time_of(const std::string& pid) {
  const std::string text = read_system_file(concat("/proc/", pid, "/stat"));
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  fields >> field;
  if (field == "Z" || field == "X") return {};  // it has ended, and nobody has asked how
  for (int i = 1; i < 20 && fields >> field; ++i) {
  }
  return field;
}

std::string own_namespace() {
  struct stat info{};
  return ::stat("/proc/self/ns/pid", &info) == 0 ? std::to_string(info.st_ino) : std::string();
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

std::string Owner::name() const {
  return concat(pid, "-", started, "-ns", pid_namespace);
}

std::optional<Owner> Owner::from_name(const std::string& name) {
  const std::size_t first = name.find('-');
  const std::size_t second = name.find("-ns", first == std::string::npos ? first : first + 1);
  if (second == std::string::npos) return std::nullopt;
  Owner owner{name.substr(0, first), name.substr(first + 1, second - first - 1), name.substr(second + 3)};
  if (!is_number(owner.pid) || !is_number(owner.started)) return std::nullopt;
  return owner;
}

bool Owner::is_alive() const {
  return pid_namespace != own_namespace() || start_time_of(pid) == started;
}

const Owner& this_process() {
  static const Owner us{std::to_string(::getpid()), start_time_of(std::to_string(::getpid())), own_namespace()};
  return us;
}

}  // namespace drover
