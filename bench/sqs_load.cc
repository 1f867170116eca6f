// Clients of SQS, as fast as a server lets them: one thread, many keep-alive connections, a request at a time on each.
//
//   sqs_load HOST PORT KEY QUEUE_URL phases CONNECTIONS BATCH SECONDS MOST
//     sends for so long, or until so many messages are there; receives all of them; deletes all of them; then, for so
//     long, each connection sends, receives and deletes in turn. A line of JSON when each phase begins, one when it
//     ends.
//   sqs_load HOST PORT KEY QUEUE_URL fill CONNECTIONS MESSAGES
//     sends so many, in batches of 10
#include <sys/epoll.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "measure.h"
#include "sqs_requests.h"

namespace drover {
namespace {

constexpr std::size_t kBodyBytes = 1024;
constexpr int kLargestBatch = 10;
constexpr double kPatienceSeconds = 60;
constexpr double kNoEnd = 1e9;

/// Bodies that differ and do not compress well, as parts of one long text.
class Bodies {
 public:
  Bodies() {
    constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    Random random(1);
    for (char& c : text_) c = kLetters[random.next() % kLetters.size()];
  }

  std::vector<std::string_view> next(std::size_t count) {
    std::vector<std::string_view> out;
    for (std::size_t i = 0; i < count; ++i) {
      at_ = (at_ + 7'919) % (text_.size() - kBodyBytes);
      out.push_back(std::string_view(text_).substr(at_, kBodyBytes));
    }
    return out;
  }

 private:
  std::string text_ = std::string(std::size_t{1} << 20, ' ');
  std::size_t at_ = 0;
};

/// Requests that can be sent more than once, made and signed before anything is measured: clients share the cores with
/// the server, and their own work is not what is measured.
class ReadyRequests {
 public:
  ReadyRequests(SqsRequests& requests, std::size_t batch)
      : requests_(requests), batch_(batch), receive_(requests.receive(static_cast<int>(batch))) {
    for (std::size_t i = 0; i < kSends; ++i) sends_.push_back(requests.send(bodies_.next(batch)));
  }

  std::size_t batch() const { return batch_; }
  /// Of messages up to a batch; only the last requests are about less than that. Valid until the next call.
  std::string_view send(std::size_t count) {
    if (count == batch_) return sends_[next_++ % kSends];
    return smaller_ = requests_.send(bodies_.next(count));
  }
  std::string_view receive(std::size_t most) {
    if (most == batch_) return receive_;
    return smaller_ = requests_.receive(static_cast<int>(most));
  }

 private:
  static constexpr std::size_t kSends = 256;

  SqsRequests& requests_;
  const std::size_t batch_;
  Bodies bodies_;
  std::vector<std::string> sends_;
  std::size_t next_ = 0;
  const std::string receive_;
  std::string smaller_;
};

enum class Operation { none, send, receive, remove };

/// One connection: a request at a time, of any of the operations.
class Client {
 public:
  explicit Client(const ServerPlace& place) : channel_(place) {}

  int socket() const { return channel_.socket(); }
  /// none: the connection is free.
  Operation asked() const { return asked_; }
  /// What was received and is not deleted yet.
  std::vector<std::string>& handles() { return handles_; }

  void send(ReadyRequests& ready, std::size_t count) { ask(Operation::send, count, ready.send(count)); }
  void receive(ReadyRequests& ready, std::size_t most) { ask(Operation::receive, most, ready.receive(most)); }
  void remove(SqsRequests& requests) { ask(Operation::remove, handles_.size(), requests.remove(handles_)); }

  struct Answered {
    Operation operation = Operation::none;
    std::size_t wanted = 0;  // messages
    std::size_t done = 0;    // only a receive can do less than it wanted
  };
  /// To be called when the socket is readable. An operation of none: the answer is not complete yet.
  Answered readable() {
    const auto body = channel_.receive();
    if (!body) return {};
    Answered out{std::exchange(asked_, Operation::none), count_, count_};
    switch (out.operation) {
      case Operation::none: give_up("an answer to nothing");
      case Operation::send: expect_sent(*body, count_); break;
      case Operation::receive:
        handles_ = received_handles(*body);
        out.done = handles_.size();
        break;
      case Operation::remove:
        expect_removed(*body, count_);
        handles_.clear();
        break;
    }
    return out;
  }

 private:
  void ask(Operation operation, std::size_t count, std::string_view request) {
    asked_ = operation;
    count_ = count;
    channel_.send(request);
  }

  HttpChannel channel_;
  Operation asked_ = Operation::none;
  std::size_t count_ = 0;
  std::vector<std::string> handles_;
};

class Load {
 public:
  Load(const ServerPlace& place, const std::string& queue_url, int connections, std::size_t batch)
      : requests_(place, queue_url), ready_(requests_, batch), poll_(::epoll_create1(EPOLL_CLOEXEC)) {
    for (int i = 0; i < connections; ++i) {
      clients_.push_back(std::make_unique<Client>(place));
      epoll_event event{.events = EPOLLIN, .data = {.ptr = clients_.back().get()}};
      ::epoll_ctl(poll_, EPOLL_CTL_ADD, clients_.back()->socket(), &event);
    }
  }

  void send_for(double seconds, std::uint64_t most) {
    const Stopwatch watch;
    run("send", Operation::send, [&](Client& client, const Client::Answered&) {
      if (waiting_ >= most || watch.seconds() >= seconds) return;
      const std::size_t count = std::min<std::uint64_t>(ready_.batch(), most - waiting_);
      waiting_ += count;
      client.send(ready_, count);
    });
  }

  void receive_all() {
    const Stopwatch watch;
    run("receive", Operation::receive, [&](Client& client, const Client::Answered& answered) {
      waiting_ += answered.wanted - answered.done;
      std::ranges::move(client.handles(), std::back_inserter(held_));
      client.handles().clear();
      if (waiting_ == 0) return;
      if (watch.seconds() > kPatienceSeconds) give_up(concat(waiting_, " messages cannot be received"));
      const std::size_t count = std::min<std::uint64_t>(ready_.batch(), waiting_);
      waiting_ -= count;
      client.receive(ready_, count);
    });
  }

  void remove_all() {
    run("delete", Operation::remove, [&](Client& client, const Client::Answered&) {
      for (; !held_.empty() && client.handles().size() < ready_.batch(); held_.pop_front()) {
        client.handles().push_back(std::move(held_.front()));
      }
      if (!client.handles().empty()) client.remove(requests_);
    });
  }

  /// Each connection ends with a delete.
  void cycle_for(const char* name, double seconds) {
    const Stopwatch watch;
    run(name, Operation::remove, [&](Client& client, const Client::Answered& answered) {
      if (watch.seconds() > seconds + kPatienceSeconds) give_up("messages that were sent cannot be received");
      if (!client.handles().empty()) return client.remove(requests_);
      // A receive that found nothing is repeated: there is a message for each that was sent.
      if (answered.operation == Operation::send || answered.operation == Operation::receive) {
        return client.receive(ready_, ready_.batch());
      }
      if (watch.seconds() < seconds) client.send(ready_, ready_.batch());
    });
  }

 private:
  /// Lets each connection do what comes next, until none does anything more. Messages of one operation are counted.
  void run(const char* name, Operation counted, const std::function<void(Client&, const Client::Answered&)>& do_next) {
    std::printf("{\"begins\": \"%s\"}\n", name);
    std::fflush(stdout);
    const Stopwatch watch;
    std::size_t busy = 0;
    std::uint64_t messages = 0;
    std::uint64_t requests = 0;
    for (const auto& it : clients_) {
      do_next(*it, {});
      if (it->asked() != Operation::none) ++busy;
    }
    while (busy > 0) {
      epoll_event events[256];
      const int ready = ::epoll_wait(poll_, events, 256, static_cast<int>(kPatienceSeconds * 1000));
      if (ready <= 0) give_up("the server does not answer");
      for (int i = 0; i < ready; ++i) {
        Client& client = *static_cast<Client*>(events[i].data.ptr);
        const Client::Answered answered = client.readable();
        if (answered.operation == Operation::none) continue;
        ++requests;
        if (answered.operation == counted) messages += answered.done;
        do_next(client, answered);
        if (client.asked() == Operation::none) --busy;
      }
    }
    std::printf("{\"ended\": \"%s\", \"messages\": %llu, \"requests\": %llu, \"seconds\": %.6f}\n", name,
                static_cast<unsigned long long>(messages), static_cast<unsigned long long>(requests), watch.seconds());
    std::fflush(stdout);
  }

  SqsRequests requests_;
  ReadyRequests ready_;
  int poll_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::uint64_t waiting_ = 0;     // messages that were sent and are not asked for
  std::deque<std::string> held_;  // receipt handles
};

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  if (argc < 8) return 2;
  const ServerPlace place{.host = words[1], .port = std::atoi(argv[2]), .key = words[3]};
  const std::string& mode = words[5];
  const int connections = std::atoi(argv[6]);
  if (mode == "fill" && argc == 8) {
    Load(place, words[4], connections, kLargestBatch).send_for(kNoEnd, std::strtoull(argv[7], nullptr, 10));
    return 0;
  }
  if (mode != "phases" || argc != 10) return 2;
  Load load(place, words[4], connections, std::strtoull(argv[7], nullptr, 10));
  const double seconds = std::atof(argv[8]);
  load.cycle_for("warm-up", seconds / 4);
  load.send_for(seconds, std::strtoull(argv[9], nullptr, 10));
  load.receive_all();
  load.remove_all();
  load.cycle_for("cycle", seconds);
  return 0;
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  const int status = drover::run(argc, argv);
  if (status == 2) {
    drover::give_up(
        "usage: sqs_load HOST PORT KEY QUEUE_URL "
        "phases CONNECTIONS BATCH SECONDS MOST | fill CONNECTIONS MESSAGES");
  }
  return status;
}
