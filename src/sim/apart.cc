#include "sim/apart.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/check.h"
#include "base/text.h"

namespace drover::sim {
namespace {

// What a child writes: the numbers, then the words of its failure if there is one.
struct Numbers {
  std::uint64_t failed;
  std::int64_t failed_at_ms;
  std::uint64_t hash;
  std::uint64_t settled;
  std::uint64_t attempts;
  std::uint64_t steps;
  std::int64_t counted_hours;
};

void write_all(int to, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t wrote = write(to, at, size);
    DROVER_CHECK(wrote > 0, "a child can tell its parent");
    at += wrote;
    size -= static_cast<std::size_t>(wrote);
  }
}

[[noreturn]] void be_child(int to, const Apart::Act& act) {
  const RunResult result = act();
  const Numbers numbers{
      result.failure.has_value(), result.failed_at_ms, result.hash, result.settled, result.attempts, result.steps,
      result.counted_hours};
  write_all(to, &numbers, sizeof numbers);
  if (result.failure) write_all(to, result.failure->data(), result.failure->size());
  _exit(0);
}

std::string read_all(int from) {
  std::string out;
  char buffer[4096];
  for (ssize_t got = read(from, buffer, sizeof buffer); got > 0; got = read(from, buffer, sizeof buffer)) {
    out.append(buffer, static_cast<std::size_t>(got));
  }
  return out;
}

RunResult result_of(const std::string& said, int status) {
  RunResult result;
  Numbers numbers{};
  if (said.size() < sizeof numbers) {
    result.failure = concat("stopped by ", WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "itself");
    return result;
  }
  std::memcpy(&numbers, said.data(), sizeof numbers);
  if (numbers.failed != 0) result.failure = said.substr(sizeof numbers);
  result.failed_at_ms = numbers.failed_at_ms;
  result.hash = numbers.hash;
  result.settled = numbers.settled;
  result.attempts = numbers.attempts;
  result.steps = numbers.steps;
  result.counted_hours = numbers.counted_hours;
  return result;
}

}  // namespace

void Apart::start(const Act& act, Done done) {
  while (children_.size() >= most_) wait_for_one();
  int ends[2];
  DROVER_CHECK(pipe2(ends, O_CLOEXEC) == 0, "there are pipes left");
  std::fflush(nullptr);
  const int process = fork();
  DROVER_CHECK(process >= 0, "there are processes left");
  if (process == 0) {
    close(ends[0]);
    be_child(ends[1], act);
  }
  close(ends[1]);
  children_.push_back({process, ends[0], std::move(done)});
}

void Apart::wait_for_one() {
  std::vector<pollfd> ready;
  ready.reserve(children_.size());
  for (const Child& child : children_) ready.push_back({child.pipe, POLLIN, 0});
  poll(ready.data(), ready.size(), -1);
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (ready[i].revents == 0) continue;
    const Child child = std::move(children_[i]);
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
    const std::string said = read_all(child.pipe);
    close(child.pipe);
    int status = 0;
    waitpid(child.process, &status, 0);
    child.done(result_of(said, status));
    return;
  }
}

void Apart::wait_for_all() {
  while (!children_.empty()) wait_for_one();
}

RunResult act_apart(const Apart::Act& act) {
  RunResult out;
  Apart alone(1);
  alone.start(act, [&](const RunResult& result) { out = result; });
  alone.wait_for_all();
  return out;
}

}  // namespace drover::sim
