// Workers that do nothing but take items and report them done, as fast as a server lets them: one thread, many
// keep-alive connections, one worker on each. lease_ack_load HOST PORT KEY CONNECTIONS ITEMS_A_POLL SECONDS
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "measure.h"
#include "wire/worker_protocol.h"

namespace drover {
namespace {

/// One worker's connection: sends a request, gathers the answer, and starts over.
class Connection {
 public:
  Connection(int number, const char* host, int port, std::string key, std::uint64_t want)
      : number_(number), key_(std::move(key)), want_(want) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (::inet_pton(AF_INET, host, &address.sin_addr) != 1 ||
        ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      give_up("cannot connect");
    }
    const int yes = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    WorkerHello hello;
    hello.name = "load-" + std::to_string(number);
    hello.incarnation = static_cast<std::uint64_t>(::getpid()) << 20 | static_cast<std::uint64_t>(number);
    incarnation_ = hello.incarnation;
    send("register", encode(hello));
  }

  int socket() const { return socket_; }
  std::uint64_t done() const { return done_; }
  std::uint64_t polls() const { return polls_; }

  void readable() {
    char buffer[65536];
    const ssize_t got = ::recv(socket_, buffer, sizeof buffer, 0);
    if (got <= 0) give_up("the server closed a connection");
    in_.append(buffer, static_cast<std::size_t>(got));
    const std::size_t head = in_.find("\r\n\r\n");
    if (head == std::string::npos) return;
    const std::size_t at = in_.find("Content-Length: ");
    const std::size_t length = at < head ? std::strtoull(in_.c_str() + at + 16, nullptr, 10) : 0;
    if (in_.size() < head + 4 + length) return;
    if (!in_.starts_with("HTTP/1.1 200")) give_up("the server said: " + in_.substr(0, 400));
    const std::string body = in_.substr(head + 4, length);
    in_.erase(0, head + 4 + length);
    answered(body);
  }

 private:
  void answered(const std::string& body) {
    Poll poll{.report = {}, .number = PollNumber{++number_of_poll_}, .given_up = {}, .want = want_, .wait_ms = 20'000};
    if (!worker_) {
      worker_ = must(decode_welcome(body)).worker;
    } else {
      ++polls_;
      const WorkerPollAnswer answer = must(decode_poll_answer(body));
      done_ += reported_;
      for (const Lease& lease : answer.answer.leases) {
        for (std::uint64_t offset = 0; offset < lease.count; ++offset) {
          EndedAttempt ended{.token = {lease.grant, ItemIndex{lease.first.value + offset}}};
          ended.usage = {.started_ms = 1'700'000'000'000,
                         .wall_us = 1'500,
                         .user_us = 700,
                         .system_us = 400,
                         .peak_memory_kib = 1'500};
          poll.report.ended.push_back(std::move(ended));
        }
      }
      reported_ = poll.report.ended.size();
    }
    poll.report.worker = worker_;
    poll.report.incarnation = incarnation_;
    send("poll", encode(WorkerPoll{.poll = std::move(poll), .frames = {}, .ended_frames = {}}));
  }

  void send(const std::string& what, const std::string& body) {
    const std::string out = "POST /worker/v1/" + what + " HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer " + key_ +
                            "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    for (std::size_t sent = 0; sent < out.size();) {
      const ssize_t more = ::send(socket_, out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
      if (more <= 0) give_up("cannot send");
      sent += static_cast<std::size_t>(more);
    }
  }

  const int number_;
  const std::string key_;
  const std::uint64_t want_;
  int socket_ = -1;
  std::uint64_t incarnation_ = 0;
  WorkerId worker_;
  std::uint64_t number_of_poll_ = 0;
  std::uint64_t reported_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t polls_ = 0;
  std::string in_;
};

int run(char** words) {
  const int count = std::atoi(words[4]);
  const double seconds = std::atof(words[6]);
  const int poll = ::epoll_create1(EPOLL_CLOEXEC);
  std::vector<std::unique_ptr<Connection>> connections;
  for (int i = 0; i < count; ++i) {
    connections.push_back(
        std::make_unique<Connection>(i, words[1], std::atoi(words[2]), words[3], std::strtoull(words[5], nullptr, 10)));
    epoll_event event{.events = EPOLLIN, .data = {.ptr = connections.back().get()}};
    ::epoll_ctl(poll, EPOLL_CTL_ADD, connections.back()->socket(), &event);
  }
  const auto total = [&](auto what) {
    std::uint64_t sum = 0;
    for (const auto& connection : connections) sum += (*connection.*what)();
    return sum;
  };
  const Stopwatch all;
  std::optional<Stopwatch> measured;
  std::uint64_t done_before = 0;
  std::uint64_t polls_before = 0;
  while (!measured || measured->seconds() < seconds) {
    // The first fifth is for warming up.
    if (!measured && all.seconds() > seconds / 5) {
      measured.emplace();
      done_before = total(&Connection::done);
      polls_before = total(&Connection::polls);
    }
    epoll_event events[256];
    const int ready = ::epoll_wait(poll, events, 256, 1'000);
    for (int i = 0; i < ready; ++i) static_cast<Connection*>(events[i].data.ptr)->readable();
  }
  const double took = measured->seconds();
  std::printf("{\"items\": %llu, \"polls\": %llu, \"seconds\": %.6f}\n",
              static_cast<unsigned long long>(total(&Connection::done) - done_before),
              static_cast<unsigned long long>(total(&Connection::polls) - polls_before), took);
  return 0;
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  if (argc != 7) drover::give_up("usage: lease_ack_load HOST PORT KEY CONNECTIONS ITEMS_A_POLL SECONDS");
  return drover::run(argv);
}
