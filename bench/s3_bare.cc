// The limit of a durable PUT over HTTP: a thread for each connection, no checks of what it is sent. s3_bare FOLDER.
// Prints a line of JSON with its port, and serves until it is killed.
//
// What it does that Drover's server also has to do: it reads a request, computes the MD5 and the SHA-256 of its body,
// writes the body to a new file, syncs it, renames it, and answers with the ETag. What it does not do: verify
// signatures, keep an index, or sync the folder.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <thread>

#include "base/text.h"
#include "measure.h"
#include "wire/checksums.h"
#include "wire/digest.h"

namespace drover {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{256} << 10;

void serve(int socket, const std::string& folder) {
  std::string in;
  std::string buffer(kReadAtOnce, '\0');
  const auto more = [&]() -> std::string_view {
    const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
    return got <= 0 ? std::string_view() : std::string_view(buffer).substr(0, static_cast<std::size_t>(got));
  };
  const std::string incoming = concat(folder, "/incoming-", socket);
  while (true) {
    std::size_t end = std::string::npos;
    while ((end = in.find("\r\n\r\n")) == std::string::npos) {
      const std::string_view some = more();
      if (some.empty()) return;
      in += some;
    }
    const std::string head = in_small_letters(std::string_view(in).substr(0, end));
    std::uint64_t left = 0;
    if (const std::size_t at = head.find("content-length: "); at != std::string::npos) {
      std::from_chars(head.data() + at + 16, head.data() + head.size(), left);
    }
    std::string name = in.substr(0, in.find(" HTTP"));
    std::ranges::replace(name, '/', '-');
    std::ranges::replace(name, ' ', '-');
    in.erase(0, end + 4);
    Checksums sums({ChecksumKind::md5, ChecksumKind::sha256});
    const int file = ::open(incoming.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    std::string_view some = in;
    while (left > 0) {
      if (some.empty()) some = more();
      if (some.empty()) return;
      some = some.substr(0, left);
      sums.add(some);
      if (::write(file, some.data(), some.size()) != static_cast<ssize_t>(some.size())) give_up("cannot write");
      left -= some.size();
      some = {};
    }
    in.clear();
    if (::fdatasync(file) != 0 || ::close(file) != 0) give_up("cannot sync");
    if (::rename(incoming.c_str(), concat(folder, "/", name).c_str()) != 0) give_up("cannot rename");
    const std::string answer = concat("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: \"",
                                      hex(sums.finish().at(ChecksumKind::md5)), "\"\r\n\r\n");
    if (::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
  }
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  using namespace drover;
  if (argc != 2) give_up("usage: s3_bare FOLDER");
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof own;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&own), size) != 0 || ::listen(listener, 64) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&own), &size) != 0) {
    give_up("cannot listen");
  }
  std::printf("{\"port\": %d}\n", ntohs(own.sin_port));
  std::fflush(stdout);
  while (true) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    std::thread([socket, folder = std::string(argv[1])] {
      serve(socket, folder);
      ::close(socket);
    }).detach();
  }
}
