#include "provide/script.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/text.h"
#include "base/units.h"
#include "ports/descriptor.h"
#include "provide/child_process.h"

namespace drover {
namespace {

constexpr std::size_t kComplaintBytes = 4096;
constexpr int kLookMs = 50;

struct Pipe {
  Descriptor reader, writer;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::unexpected(errno_error(errno, "cannot create a pipe"));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

/// A script that runs: what it is told goes in, and what it says comes out.
class Conversation {
 public:
  Conversation(Pipe in, Pipe out, Pipe err, const std::string& input, std::size_t most_output)
      : in_(std::move(in.writer)),
        out_(std::move(out.reader)),
        err_(std::move(err.reader)),
        input_(input),
        most_output_(most_output) {
    for (const Descriptor* it : {&in_, &out_, &err_}) ::fcntl(it->get(), F_SETFL, O_NONBLOCK);
  }

  /// Waits a moment for something to go on.
  void turn() {
    std::array<pollfd, 3> wait = {pollfd{in_.get(), POLLOUT, 0}, pollfd{out_.get(), POLLIN, 0},
                                  pollfd{err_.get(), POLLIN, 0}};
    ::poll(wait.data(), wait.size(), kLookMs);  // those that are closed have the number -1
    tell();
    hear();
  }
  void hear() {
    read(out_, said_, most_output_ + 1);
    read(err_, complaints_, 0);
  }
  bool is_over() const { return !out_ && !err_; }
  bool said_too_much() const { return said_.size() > most_output_; }
  std::string take_output() { return std::move(said_); }
  std::string last_words() const { return last_line(complaints_); }

 private:
  void tell() {
    while (in_ && sent_ < input_.size()) {
      const ssize_t count = ::write(in_.get(), input_.data() + sent_, input_.size() - sent_);
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) sent_ = input_.size();  // it does not listen
      if (count > 0) sent_ += static_cast<std::size_t>(count);
    }
    in_.reset();
  }

  /// `most`: what comes later is not kept; 0: what came first is not.
  static void read(Descriptor& from, std::string& to, std::size_t most) {
    char piece[65536];
    while (from) {
      const ssize_t count = ::read(from.get(), piece, sizeof piece);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (count <= 0) {
        from.reset();
        return;
      }
      to.append(piece, static_cast<std::size_t>(count));
      if (most > 0 && to.size() > most) to.resize(most);
      if (most == 0 && to.size() > kComplaintBytes) to.erase(0, to.size() - kComplaintBytes);
    }
  }

  Descriptor in_, out_, err_;
  const std::string& input_;
  const std::size_t most_output_;
  std::size_t sent_ = 0;
  std::string said_;
  std::string complaints_;
};

}  // namespace

Result<std::string> run_script(const std::vector<std::string>& words, const std::string& input,
                               const ScriptLimits& limits, const std::stop_token& stop) {
  const std::string what = words.size() > 1 ? concat(words[0], " ", words[1]) : words[0];
  if (stop.stop_requested()) return fail(ErrorCode::stopped, concat(what, " was not started, as nobody waits for it"));
  auto in = make_pipe();
  if (!in) return pass(in);
  auto out = make_pipe();
  if (!out) return pass(out);
  auto err = make_pipe();
  if (!err) return pass(err);
  auto child = start_child({.words = words,
                            .environment = child_environment(),
                            .in = in->reader.get(),
                            .out = out->writer.get(),
                            .err = err->writer.get(),
                            .join = {}});
  if (!child) return pass(child);
  const pid_t pid = child->pid;
  for (Descriptor* ours : {&in->reader, &out->writer, &err->writer}) ours->reset();

  Conversation talk(std::move(*in), std::move(*out), std::move(*err), input, limits.output_bytes);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(limits.time_ms);
  int status = 0;
  while (true) {
    talk.turn();
    // What it started in the background may keep its pipes open.
    if (::waitpid(pid, &status, WNOHANG) == pid) break;
    const bool is_late = std::chrono::steady_clock::now() >= until;
    if (!is_late && !stop.stop_requested() && !talk.said_too_much()) continue;
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, &status, 0);
    if (talk.said_too_much()) {
      return fail(ErrorCode::io, concat(what, " printed more than ", format_size(limits.output_bytes)));
    }
    if (!is_late) return fail(ErrorCode::stopped, concat(what, " was killed, as nobody waits for it any more"));
    const std::string said = talk.last_words();
    return fail(ErrorCode::io, concat(what, " did not end within ", limits.time_ms / 1000, " s and was killed",
                                      said.empty() ? "" : concat("; it said: ", said)));
  }
  talk.hear();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return talk.take_output();
  const std::string how = WIFEXITED(status) ? concat("exited with status ", WEXITSTATUS(status))
                                            : concat("was killed by signal ", WTERMSIG(status));
  const std::string said = talk.last_words();
  return fail(ErrorCode::io, concat(what, " ", how, said.empty() ? "" : concat(": ", said)));
}

}  // namespace drover
