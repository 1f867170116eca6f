// A container of Docker's with a terminal, for somebody who wants to look around where an item runs.
#pragma once

#include <sys/ioctl.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "base/words.h"
#include "ports/descriptor.h"
#include "ports/runner.h"
#include "run/docker/docker_daemon.h"

namespace drover {

class DockerTerminal {
 public:
  /// It runs, and what it prints can be read. A program that cannot be started is an error.
  static Result<std::unique_ptr<DockerTerminal>> start(DockerDaemon& daemon, const SlotSetup& setup, const Task& task);
  /// The container goes, whatever it does.
  ~DockerTerminal();
  DockerTerminal(const DockerTerminal&) = delete;
  DockerTerminal& operator=(const DockerTerminal&) = delete;

  /// To read what it prints and to write what is typed; it ends when the container does.
  Descriptor take_stream() { return std::move(stream_); }
  void resize(const winsize& size);
  /// Waits for the end.
  Result<Outcome> wait();

 private:
  DockerTerminal(DockerDaemon& daemon, std::string id) : daemon_(daemon), id_(std::move(id)) {}

  Result<void> attach();
  Result<boost::json::value> ask(std::string method, std::string_view below, const std::string& what);

  DockerDaemon& daemon_;
  const std::string id_;
  Descriptor stream_;
};

}  // namespace drover
