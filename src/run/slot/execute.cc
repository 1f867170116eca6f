#include "run/slot/execute.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace drover::slot {
namespace {

constexpr const char* kDefaultSearchPath = "/bin:/usr/bin";  // what execvp takes when there is no PATH

// The kernel calls a script missing whose interpreter is. Which one it is, only the process sees that was to become it:
// in a container it has other files than we. It writes it down here, in memory that it shares with us.
struct Missing {
  bool is_interpreter = false;
  char interpreter[256];  // as the file's first line names it; empty: it has none, or cannot be read
};
Missing missing;

void note_interpreter(const char* file) {
  if (::access(file, F_OK) != 0) return;
  missing.is_interpreter = true;
  missing.interpreter[0] = '\0';
  char line[sizeof(missing.interpreter)];
  const int script = ::open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  const ssize_t size = script < 0 ? 0 : ::read(script, line, sizeof(line));
  if (script >= 0) ::close(script);
  if (size < 3 || line[0] != '#' || line[1] != '!') return;
  const std::string_view words(line + 2, static_cast<std::size_t>(size) - 2);
  const std::size_t from = std::min(words.find_first_not_of(" \t"), words.size());
  const std::size_t to = std::min(words.find_first_of(std::string_view(" \t\n\0", 4), from), words.size());
  missing.interpreter[words.copy(missing.interpreter, to - from, from)] = '\0';
}

bool is_path(const char* program) {
  return std::strchr(program, '/') != nullptr;
}

/// Returns only if the file could not be executed: with why.
int execute_file(TaskPlan& plan, const char* file) {
  const auto environment = const_cast<char* const*>(plan.environment.data());
  ::execve(file, const_cast<char* const*>(plan.arguments.data() + 1), environment);
  const int error = errno;
  if (error == ENOENT) note_interpreter(file);
  if (error != ENOEXEC) return error;
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
  missing.is_interpreter = false;
  return is_path(plan.program) ? execute_file(plan, plan.program) : execute_from_search_path(plan);
}

std::string explain(const char* program, int error, Sight sight) {
  std::string why = std::string("could not start ") + program + ": ";
  const bool is_interpreter = std::exchange(missing.is_interpreter, false);
  if (error != ENOENT) return why + strerrordesc_np(error);
  if (is_interpreter) {
    std::string interpreter = missing.interpreter;
    why += "the file exists, but its interpreter does not";
    const bool from_windows = interpreter.ends_with('\r');
    if (from_windows) interpreter.pop_back();
    if (!interpreter.empty()) why += ": " + interpreter;
    if (from_windows) why += " (followed by a carriage return: the file has Windows line endings)";
    return why;
  }
  if (!is_path(program))
    return why + (sight == Sight::elsewhere ? "not found in the container's PATH" : "not found in PATH");
  return why + strerrordesc_np(error);
}

}  // namespace drover::slot
