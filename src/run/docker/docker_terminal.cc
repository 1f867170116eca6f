#include "run/docker/docker_terminal.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "host/owner.h"
#include "run/docker/container_body.h"
#include "run/docker/docker_image.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::size_t kLongestHead = 4096;

/// Up to the empty line behind it, and no further: what follows is no longer HTTP.
Result<std::string> read_head(int socket) {
  std::string head;
  while (!head.ends_with("\r\n\r\n") && head.size() < kLongestHead) {
    char byte = 0;
    const ssize_t got = ::read(socket, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail(ErrorCode::unreachable, "the Docker daemon closed the connection");
    head.push_back(byte);
  }
  return head;
}

}  // namespace

Result<std::unique_ptr<DockerTerminal>> DockerTerminal::start(DockerDaemon& daemon, const SlotSetup& setup,
                                                              const Task& task) {
  std::string why = why_not_possible(setup);
  if (why.empty()) why = why_not_told(setup, task);
  if (!why.empty()) return fail(ErrorCode::bad_input, why);
  ImageResult<DockerImage> image = find_image(daemon, setup.container->name, setup.container->options.digest);
  if (!image) return std::unexpected(image.error().error());
  json::object body = container_for(setup, {image->id, this_process().name(), "terminal", ""}, task);
  for (const char* yes : {"Tty", "OpenStdin", "AttachStdin", "StdinOnce"}) body[yes] = true;
  auto made = daemon.ask_now(daemon.request("POST", "/containers/create", json::serialize(body)),
                             "could not create a container");
  if (!made) return pass(made);
  std::unique_ptr<DockerTerminal> terminal(new DockerTerminal(daemon, text_at(*made, {"Id"})));
  // Before it starts, so that nothing is missed.
  if (auto done = terminal->attach(); !done) return pass(done);
  if (auto done = terminal->ask("POST", "/start", "could not start the container"); !done) return pass(done);
  return terminal;
}

DockerTerminal::~DockerTerminal() {
  static_cast<void>(ask("DELETE", "?force=1&v=1", {}));
}

Result<json::value> DockerTerminal::ask(std::string method, std::string_view below, const std::string& what) {
  return daemon_.ask_now(daemon_.request(std::move(method), concat("/containers/", id_, below)), what);
}

Result<void> DockerTerminal::attach() {
  stream_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& path = daemon_.socket_path();
  if (path.size() >= sizeof(address.sun_path)) return fail(ErrorCode::bad_input, concat("path is too long: ", path));
  std::memcpy(address.sun_path, path.data(), path.size());
  if (!stream_ || ::connect(stream_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return std::unexpected(errno_error(errno, concat("could not reach the Docker daemon at ", path)));
  }
  const std::string wanted =
      daemon_.request("POST", concat("/containers/", id_, "/attach?stream=1&stdin=1&stdout=1&stderr=1")).path;
  const std::string request = concat("POST ", wanted, " HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\n",
                                     "Upgrade: tcp\r\nContent-Length: 0\r\n\r\n");
  if (::send(stream_.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    return std::unexpected(errno_error(errno, concat("could not send a request to the Docker daemon at ", path)));
  }
  auto head = read_head(stream_.get());
  if (!head) return pass(head);
  if (head->contains(" 101 ") || head->contains(" 200 ")) return {};
  return fail(ErrorCode::io, concat("could not attach to a container: ", head->substr(0, head->find('\r'))));
}

void DockerTerminal::resize(const winsize& size) {
  // One that cannot be resized any more has ended.
  static_cast<void>(ask("POST", concat("/resize?h=", size.ws_row, "&w=", size.ws_col), {}));
}

Result<Outcome> DockerTerminal::wait() {
  auto ended = ask("POST", "/wait", "could not wait for a container");
  if (!ended) return pass(ended);
  Outcome outcome{.exit_code = static_cast<std::int32_t>(number_at(*ended, {"StatusCode"}))};
  const auto said = ask("GET", "/json", {});
  if (said && truth_at(*said, {"State", "OOMKilled"}) && !outcome.success()) {
    outcome.ending = Ending::out_of_memory;
    outcome.reason = "out of memory";
  }
  return outcome;
}

}  // namespace drover
