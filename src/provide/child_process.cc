#include "provide/child_process.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/utf8.h"

namespace drover {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

std::vector<std::string> child_environment(std::initializer_list<std::string_view> others) {
  constexpr std::array<std::string_view, 6> kNotForIt = {
      "DROVER_SERVER=", "DROVER_KEY=", "DROVER_CA=", "DROVER_JOIN=", "DROVER_DATA=", "NOTIFY_SOCKET="};
  std::vector<std::string> out;
  for (char** it = environ; *it != nullptr; ++it) {
    const std::string_view variable = *it;
    const auto begins_so = [&](std::string_view start) { return variable.starts_with(start); };
    if (std::ranges::none_of(kNotForIt, begins_so) && std::ranges::none_of(others, begins_so)) {
      out.emplace_back(variable);
    }
  }
  return out;
}

Result<pid_t> spawn_child(std::vector<std::string> words, std::vector<std::string> environment,
                          const posix_spawn_file_actions_t& files, short flags) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, static_cast<short>(flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  sigdelset(&signals, SIGKILL);
  sigdelset(&signals, SIGSTOP);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, words.front().c_str(), &files, &attributes, pointers(words).data(),
                                  pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return std::unexpected(errno_error(error, concat("cannot start ", words.front())));
  return pid;
}

std::string last_line(std::string_view text) {
  std::string_view last;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_until(text, '\n'));
    if (!line.empty()) last = line;
  }
  return utf8(last);
}

}  // namespace drover
