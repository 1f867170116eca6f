#include "run/slot/execute.h"

#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace drover::slot {
namespace {

constexpr const char* kDefaultSearchPath = "/bin:/usr/bin";  // what execvp takes when there is no PATH

bool is_path(const char* program) {
  return std::strchr(program, '/') != nullptr;
}

/// Returns only if the file could not be executed: with why.
int execute_file(TaskPlan& plan, const char* file) {
  const auto environment = const_cast<char* const*>(plan.environment.data());
  ::execve(file, const_cast<char* const*>(plan.arguments.data() + 1), environment);
  if (errno != ENOEXEC) return errno;
  plan.arguments[0] = "/bin/sh";
  plan.arguments[1] = file;
  ::execve(plan.arguments[0], const_cast<char* const*>(plan.arguments.data()), environment);
  return errno;
}

/// As execvp does it: an error that may be about one folder only does not end the search.
int execute_from_search_path(TaskPlan& plan) {
  const std::size_t name_size = std::strlen(plan.program);
  if (name_size == 0 || name_size > NAME_MAX) return name_size == 0 ? ENOENT : ENAMETOOLONG;
  char file[PATH_MAX + 1 + NAME_MAX + 1];
  bool was_denied = false;
  const char* folder = plan.search_path != nullptr ? plan.search_path : kDefaultSearchPath;
  for (;;) {
    const char* folder_end = strchrnul(folder, ':');
    const auto folder_size = static_cast<std::size_t>(folder_end - folder);
    if (folder_size < PATH_MAX) {
      char* at = static_cast<char*>(mempcpy(file, folder, folder_size));
      if (folder_size > 0) *at++ = '/';
      std::memcpy(at, plan.program, name_size + 1);
      const int error = execute_file(plan, file);
      was_denied = was_denied || error == EACCES;
      const bool look_on = error == EACCES || error == ENOENT || error == ENOTDIR || error == ESTALE ||
                           error == ENODEV || error == ETIMEDOUT;
      if (!look_on) return error;
    }
    if (*folder_end == '\0') return was_denied ? EACCES : ENOENT;
    folder = folder_end + 1;
  }
}

}  // namespace

int execute(TaskPlan& plan) {
  return is_path(plan.program) ? execute_file(plan, plan.program) : execute_from_search_path(plan);
}

std::string explain(const char* program, int error, Sight sight) {
  std::string why = std::string("could not start ") + program + ": ";
  if (error != ENOENT) return why + strerrordesc_np(error);
  if (!is_path(program)) return why + "not found in PATH" + (sight == Sight::elsewhere ? " of the container" : "");
  why += strerrordesc_np(error);
  if (sight == Sight::same && ::access(program, F_OK) == 0) {
    why += " (the file is there, but not the interpreter it asks for)";
  }
  return why;
}

}  // namespace drover::slot
