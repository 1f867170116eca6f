#include "run/slot/user_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ports/descriptor.h"
#include "run/slot/execute.h"

namespace drover::slot {
namespace {

std::string because(std::string what) {
  return std::move(what) + ": " + strerrordesc_np(errno);
}

bool write_whole(const char* path, const std::string& text) {
  const Descriptor file(::open(path, O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// "newuidmap PID INSIDE OUTSIDE COUNT …", and how it ended.
bool succeeds(const std::string& program, pid_t target, std::string words) {
  std::vector<char*> arguments;
  std::string own_name = program;
  std::string pid = std::to_string(target);
  arguments.push_back(own_name.data());
  arguments.push_back(pid.data());
  for (char* word = std::strtok(words.data(), " \n"); word != nullptr; word = std::strtok(nullptr, " \n")) {
    arguments.push_back(word);
  }
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    char* const environment[] = {nullptr};
    ::execve(program.c_str(), arguments.data(), environment);
    ::_exit(kCouldNotStart);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

std::vector<UserNamespace::Map> UserNamespace::read_maps(FrameReader& reader) {
  std::vector<Map> maps;
  for (auto count = reader.get<std::uint64_t>(); count > 0 && reader.intact(); --count) {
    maps.push_back(reader.get<Map>());
  }
  return maps;
}

void UserNamespace::read(FrameReader& reader) {
  users_ = read_maps(reader);
  groups_ = read_maps(reader);
  map_users_ = reader.text();
  map_groups_ = reader.text();
}

std::string UserNamespace::words(const std::vector<Map>& maps) {
  std::string text;
  for (const Map& it : maps) {
    text += std::to_string(it.inside) + " " + std::to_string(it.outside) + " " + std::to_string(it.count) + "\n";
  }
  return text;
}

std::string UserNamespace::enter() const {
  if (!map_users_.empty()) return enter_mapped_by_others();
  if (::unshare(CLONE_NEWUSER) != 0) return because("could not create a user namespace for containers");
  return map_alone();
}

// Everybody may map himself, and must give up changing groups for that.
std::string UserNamespace::map_alone() const {
  if (!write_whole("/proc/self/setgroups", "deny") || !write_whole("/proc/self/uid_map", words(users_)) ||
      !write_whole("/proc/self/gid_map", words(groups_))) {
    return because("could not become root in a user namespace");
  }
  return {};
}

// More than oneself is mapped by programs that may do so, from outside: by a child that stays there.
std::string UserNamespace::enter_mapped_by_others() const {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return because("could not create a user namespace for containers");
  Descriptor told(ends[0]);
  Descriptor tell(ends[1]);
  const pid_t us = ::getpid();
  const pid_t mapper = ::fork();
  if (mapper < 0) return because("could not create a user namespace for containers");
  if (mapper == 0) {
    tell.reset();
    char word = 0;
    const bool is_there = ::read(told.get(), &word, 1) == 1;
    ::_exit(is_there && succeeds(map_users_, us, words(users_)) && succeeds(map_groups_, us, words(groups_)) ? 0 : 1);
  }
  const bool is_made = ::unshare(CLONE_NEWUSER) == 0;
  const int error = errno;
  if (is_made) static_cast<void>(::write(tell.get(), "x", 1) == 1);
  tell.reset();
  int status = 0;
  ::waitpid(mapper, &status, 0);
  errno = error;
  if (!is_made) return because("could not create a user namespace for containers");
  if (status == 0) return {};
  return "could not map users: " + map_users_ + " or " + map_groups_ + " failed (check /etc/subuid and /etc/subgid)";
}

}  // namespace drover::slot
