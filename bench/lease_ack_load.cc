// Workers that do nothing but take items and report them done, as fast as a server lets them: one thread, many
// keep-alive connections, one worker on each. lease_ack_load HOST PORT KEY CONNECTIONS ITEMS_A_POLL SECONDS. Prints one
// line of JSON when the measured time begins, and another when it ends.
#include <sys/epoll.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure.h"
#include "wire/worker_protocol.h"
#include "worker_channel.h"

namespace drover {
namespace {

constexpr double kMostWarmUpSeconds = 10;

/// One worker: sends a request, gathers the answer, and starts over.
class Worker {
 public:
  Worker(int number, const ServerPlace& place, std::uint64_t want) : channel_(place), want_(want) {
    WorkerHello hello;
    hello.name = "load-" + std::to_string(number);
    hello.incarnation = static_cast<std::uint64_t>(::getpid()) << 20 | static_cast<std::uint64_t>(number);
    incarnation_ = hello.incarnation;
    channel_.send("register", encode(hello));
  }

  int socket() const { return channel_.socket(); }
  std::uint64_t done() const { return done_; }
  std::uint64_t polls() const { return polls_; }

  void readable() {
    if (const auto body = channel_.receive()) answered(std::string(*body));
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
    channel_.send("poll", encode(WorkerPoll{.poll = std::move(poll), .frames = {}, .ended_frames = {}}));
  }

  WorkerChannel channel_;
  const std::uint64_t want_;
  std::uint64_t incarnation_ = 0;
  WorkerId worker_;
  std::uint64_t number_of_poll_ = 0;
  std::uint64_t reported_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t polls_ = 0;
};

int run(char** words) {
  const ServerPlace place{.host = words[1], .port = std::atoi(words[2]), .key = words[3]};
  const int count = std::atoi(words[4]);
  const double seconds = std::atof(words[6]);
  const int poll = ::epoll_create1(EPOLL_CLOEXEC);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < count; ++i) {
    workers.push_back(std::make_unique<Worker>(i, place, std::strtoull(words[5], nullptr, 10)));
    epoll_event event{.events = EPOLLIN, .data = {.ptr = workers.back().get()}};
    ::epoll_ctl(poll, EPOLL_CTL_ADD, workers.back()->socket(), &event);
  }
  const auto total = [&](auto what) {
    std::uint64_t sum = 0;
    for (const auto& worker : workers) sum += (*worker.*what)();
    return sum;
  };
  const Stopwatch all;
  std::optional<Stopwatch> measured;
  std::uint64_t done_before = 0;
  std::uint64_t polls_before = 0;
  while (!measured || measured->seconds() < seconds) {
    // A fifth of the time is for warming up, and more until there were as many polls as connections.
    if (!measured && all.seconds() > seconds / 5 &&
        (total(&Worker::polls) >= workers.size() || all.seconds() > seconds / 5 + kMostWarmUpSeconds)) {
      std::puts("{\"measuring\": true}");
      std::fflush(stdout);
      measured.emplace();
      done_before = total(&Worker::done);
      polls_before = total(&Worker::polls);
    }
    epoll_event events[256];
    const int ready = ::epoll_wait(poll, events, 256, 1'000);
    for (int i = 0; i < ready; ++i) static_cast<Worker*>(events[i].data.ptr)->readable();
  }
  const double took = measured->seconds();
  std::printf("{\"items\": %llu, \"polls\": %llu, \"seconds\": %.6f}\n",
              static_cast<unsigned long long>(total(&Worker::done) - done_before),
              static_cast<unsigned long long>(total(&Worker::polls) - polls_before), took);
  return 0;
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  if (argc != 7) drover::give_up("usage: lease_ack_load HOST PORT KEY CONNECTIONS ITEMS_A_POLL SECONDS");
  return drover::run(argv);
}
