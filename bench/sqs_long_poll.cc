// Receives from an empty queue of SQS, and sends a message while that waits: how long after the answer to the send is
// that to the receive? sqs_long_poll HOST PORT KEY QUEUE_URL ROUNDS. Prints one line of JSON.
#include <poll.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "measure.h"
#include "sqs_requests.h"

namespace drover {
namespace {

constexpr int kPatienceMs = 60'000;
constexpr int kLongestWaitSeconds = 20;
/// For a receive to have come to the point where it waits.
constexpr int kSettlingMs = 5;

double percentile(std::vector<double>& values, std::size_t percent) {
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, values.size() * percent / 100)];
}

/// Two connections, and what was seen of them.
class LongPoll {
 public:
  LongPoll(const ServerPlace& place, const std::string& queue_url)
      : requests_(place, queue_url), receiver_(place), sender_(place) {}

  void round() {
    receiver_.send(requests_.receive(1, kLongestWaitSeconds));
    pollfd waits{.fd = receiver_.socket(), .events = POLLIN, .revents = 0};
    if (::poll(&waits, 1, kSettlingMs) != 0) give_up("a receive did not wait");

    const Stopwatch watch;
    sender_.send(requests_.send({body_}));
    std::optional<double> sent_ms;
    std::optional<double> received_ms;
    std::vector<std::string> handles;
    while (!sent_ms || !received_ms) {
      pollfd both[] = {{.fd = sender_.socket(), .events = POLLIN, .revents = 0},
                       {.fd = receiver_.socket(), .events = POLLIN, .revents = 0}};
      if (::poll(both, 2, kPatienceMs) <= 0) give_up("the server does not answer");
      const double now_ms = watch.seconds() * 1000;
      if (const auto sent = both[0].revents != 0 ? sender_.receive() : std::nullopt) {
        expect_sent(*sent, 1);
        sent_ms = now_ms;
      }
      if (const auto received = both[1].revents != 0 ? receiver_.receive() : std::nullopt) {
        handles = received_handles(*received);
        received_ms = now_ms;
      }
    }
    if (handles.size() != 1) give_up("a receive that waited got nothing");
    after_answer_ms_.push_back(std::max(0.0, *received_ms - *sent_ms));
    after_send_ms_.push_back(*received_ms);
    remove(handles);
  }

  void print() {
    std::printf(
        "{\"rounds\": %zu, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"from_send_p50_ms\": %.3f, \"from_send_p99_ms\": "
        "%.3f}\n",
        after_answer_ms_.size(), percentile(after_answer_ms_, 50), percentile(after_answer_ms_, 99),
        percentile(after_send_ms_, 50), percentile(after_send_ms_, 99));
  }

 private:
  void remove(const std::vector<std::string>& handles) {
    sender_.send(requests_.remove(handles));
    while (true) {
      pollfd one{.fd = sender_.socket(), .events = POLLIN, .revents = 0};
      if (::poll(&one, 1, kPatienceMs) != 1) give_up("the server does not answer");
      const auto answer = sender_.receive();
      if (!answer) continue;
      return expect_removed(*answer, 1);
    }
  }

  SqsRequests requests_;
  HttpChannel receiver_;
  HttpChannel sender_;
  const std::string body_ = std::string(1024, 'x');
  std::vector<double> after_answer_ms_;  // 0: the receive was answered first
  std::vector<double> after_send_ms_;
};

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  if (argc != 6) drover::give_up("usage: sqs_long_poll HOST PORT KEY QUEUE_URL ROUNDS");
  drover::LongPoll poll({.host = argv[1], .port = std::atoi(argv[2]), .key = argv[3]}, argv[4]);
  for (int round = 0; round < std::atoi(argv[5]); ++round) poll.round();
  poll.print();
  return 0;
}
