// Workers with nothing to do: each keeps one connection and one parked poll, and asks again when that is answered.
// idle_workers_load HOST PORT KEY WORKERS SECONDS [CA_FILE]. Prints one line of JSON when all of them wait, and another
// after so many seconds of that. With a CA's file they speak TLS.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "measure.h"
#include "wire/worker_protocol.h"
#include "worker_channel.h"

namespace drover {
namespace {

constexpr std::int64_t kWaitMs = 20'000;

class IdleWorker {
 public:
  /// The first poll waits for a time of its own, so that the polls to come are spread over time, as those of many
  /// machines are.
  IdleWorker(int number, const ServerPlace& place, std::int64_t first_wait_ms)
      : channel_(place), next_wait_ms_(first_wait_ms) {
    WorkerHello hello;
    hello.name = "idle-" + std::to_string(number);
    hello.incarnation = static_cast<std::uint64_t>(::getpid()) << 20 | static_cast<std::uint64_t>(number);
    hello.has.milli_cpus = 4'000;
    hello.has.memory_bytes = std::uint64_t{16} << 30;
    incarnation_ = hello.incarnation;
    channel_.send("register", encode(hello));
  }

  int socket() const { return channel_.socket(); }
  bool is_registered() const { return bool(worker_); }
  std::uint64_t polls() const { return polls_; }

  void readable() {
    const auto body = channel_.receive();
    if (!body) return;
    if (!worker_) {
      worker_ = must(decode_welcome(*body)).worker;
    } else {
      must(decode_poll_answer(*body));
      ++polls_;
    }
    Poll poll{
        .report = {}, .number = PollNumber{++number_of_poll_}, .given_up = {}, .want = 4, .wait_ms = next_wait_ms_};
    poll.report.worker = worker_;
    poll.report.incarnation = incarnation_;
    next_wait_ms_ = kWaitMs;
    channel_.send("poll", encode(WorkerPoll{.poll = std::move(poll), .frames = {}, .ended_frames = {}}));
  }

 private:
  WorkerChannel channel_;
  std::int64_t next_wait_ms_;
  std::uint64_t incarnation_ = 0;
  WorkerId worker_;
  std::uint64_t number_of_poll_ = 0;
  std::uint64_t polls_ = 0;
};

int run(int argc, char** words) {
  const Stopwatch all;
  std::optional<TrustedAuthority> authority;
  if (argc > 6) authority.emplace(words[6]);
  const ServerPlace place{
      .host = words[1], .port = std::atoi(words[2]), .key = words[3], .authority = authority ? &*authority : nullptr};
  const int count = std::atoi(words[4]);
  const double seconds = std::atof(words[5]);
  const int poll = ::epoll_create1(EPOLL_CLOEXEC);
  Random random(1);
  std::vector<std::unique_ptr<IdleWorker>> workers;
  const auto serve = [&](int wait_ms) {
    epoll_event events[256];
    const int ready = ::epoll_wait(poll, events, 256, wait_ms);
    for (int i = 0; i < ready; ++i) static_cast<IdleWorker*>(events[i].data.ptr)->readable();
  };
  for (int i = 0; i < count; ++i) {
    const auto first_wait_ms = static_cast<std::int64_t>(1 + random.next() % kWaitMs);
    workers.push_back(std::make_unique<IdleWorker>(i, place, first_wait_ms));
    epoll_event event{.events = EPOLLIN, .data = {.ptr = workers.back().get()}};
    ::epoll_ctl(poll, EPOLL_CTL_ADD, workers.back()->socket(), &event);
    serve(0);
  }
  const auto all_registered = [&] {
    return std::ranges::all_of(workers, [](const auto& it) { return it->is_registered(); });
  };
  while (!all_registered()) serve(1'000);
  std::printf("{\"connected\": %d, \"seconds\": %.6f}\n", count, all.seconds());
  std::fflush(stdout);

  const auto polls = [&] {
    std::uint64_t sum = 0;
    for (const auto& worker : workers) sum += worker->polls();
    return sum;
  };
  const std::uint64_t before = polls();
  const Stopwatch measured;
  while (measured.seconds() < seconds) serve(100);
  std::printf("{\"polls\": %llu, \"seconds\": %.6f}\n", static_cast<unsigned long long>(polls() - before),
              measured.seconds());
  std::fflush(stdout);
  return 0;
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  if (argc < 6 || argc > 7) drover::give_up("usage: idle_workers_load HOST PORT KEY WORKERS SECONDS [CA_FILE]");
  return drover::run(argc, argv);
}
