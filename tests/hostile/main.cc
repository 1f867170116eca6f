// Bad requests in numbers, and good ones in between; what comes back is held against what may:
//
//   hostile HOST PORT KEY PROBE COUNT SLOW RATE SEED PATIENCE_MS [tls]
//
// Sends COUNT bad requests, RATE a second (0: as fast as the server answers), SLOW of them slow ones, which are given
// up after PATIENCE_MS. PROBE is the path of something that does not change: every hundredth request asks for it, as it
// should be done, and must get the same answer each time. Prints one line of JSON, with everything that was wrong.
#include <sys/epoll.h>

#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "answer.h"
#include "peer.h"

namespace hostile {
namespace {

constexpr std::size_t kAtOnce = 64;
constexpr std::int64_t kPatienceMs = 30'000;
constexpr std::uint64_t kProbeEvery = 100;
constexpr std::size_t kMostNamed = 20;

struct Plan {
  Target target;
  std::uint64_t count = 0;
  std::uint64_t slow = 0;
  double rate = 0;
  std::int64_t slow_patience_ms = 0;
};

class Siege {
 public:
  Siege(Plan plan, std::uint64_t seed) : plan_(std::move(plan)), dice_(seed), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

  void run();
  boost::json::object told() const;

 private:
  bool may_start() const;
  void start_due();
  void start(BadRequest request, std::int64_t patience_ms, bool counts);
  void look_at(int socket);
  void end(int socket);
  void wrong(std::string what);

  const Plan plan_;
  Dice dice_;
  const int epoll_;
  std::map<int, Peer> peers_;
  std::set<std::pair<std::int64_t, int>> deadlines_;
  std::map<int, std::int64_t> deadline_of_;
  std::set<int> slow_ones_;
  std::uint64_t begun_ = 0;
  std::int64_t began_ms_ = now_ms();
  std::int64_t ended_ms_ = 0;

  std::string expected_;  // what the probe gives
  std::uint64_t probes_ = 0;
  std::int64_t slowest_probe_ms_ = 0;
  std::map<std::string, std::uint64_t> kinds_;
  std::map<std::string, std::uint64_t> answers_;
  std::uint64_t wrong_count_ = 0;
  std::vector<std::string> wrong_;
};

void Siege::wrong(std::string what) {
  ++wrong_count_;
  if (wrong_.size() < kMostNamed) wrong_.push_back(std::move(what));
}

void Siege::start(BadRequest request, std::int64_t patience_ms, bool counts) {
  Peer peer(plan_.target, std::move(request), patience_ms);
  if (!peer.is_open()) return wrong("cannot connect");
  const int socket = peer.socket();
  epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data = {.fd = socket}};
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event);
  ++kinds_[std::string(peer.request().kind)];
  if (!counts) slow_ones_.insert(socket);
  peers_.emplace(socket, std::move(peer));
  look_at(socket);
}

bool Siege::may_start() const {
  if (plan_.rate == 0) return peers_.size() - slow_ones_.size() < kAtOnce;
  return begun_ < static_cast<std::uint64_t>(static_cast<double>(now_ms() - began_ms_) / 1000 * plan_.rate);
}

void Siege::start_due() {
  while (begun_ < plan_.count && may_start()) {
    if (begun_ % kProbeEvery == 0 && !plan_.target.is_tls) start(good_request(plan_.target), kPatienceMs, true);
    ++begun_;
    if (begun_ <= plan_.slow) {
      start(slow_request(dice_, plan_.target), plan_.slow_patience_ms, false);
    } else {
      start(bad_request(dice_, plan_.target), kPatienceMs, true);
    }
  }
}

void Siege::look_at(int socket) {
  const auto it = peers_.find(socket);
  if (it == peers_.end()) return;
  if (!it->second.go_on()) return end(socket);
  const std::int64_t next = it->second.next_ms();
  if (const auto known = deadline_of_.find(socket); known != deadline_of_.end()) {
    if (known->second == next) return;
    deadlines_.erase({known->second, socket});
  }
  deadline_of_[socket] = next;
  deadlines_.insert({next, socket});
}

void Siege::end(int socket) {
  const Peer& peer = peers_.at(socket);
  const BadRequest& request = peer.request();
  const bool looked = request.ending == Ending::waits || request.ending == Ending::half_close;
  const auto answer = first_answer(peer.heard());
  if (request.kind == "good") {
    ++probes_;
    slowest_probe_ms_ = std::max(slowest_probe_ms_, now_ms() - peer.began_ms());
    const std::string got = answer ? std::to_string(answer->status) + " " + answer->body : "nothing";
    if (expected_.empty() && answer && answer->status == 200) expected_ = got;
    if (got != expected_) wrong("a good request was answered with " + got.substr(0, 300));
  } else if (!looked) {
    ++answers_["not looked at"];
  } else if (peer.lost_patience()) {
    ++answers_["given up"];
    if (!slow_ones_.contains(socket)) wrong(std::string(request.kind) + ": neither answered nor closed");
  } else {
    ++answers_[answer ? std::to_string(answer->status) : "closed"];
    std::string what = judged(request, peer.heard());
    if (!what.empty()) wrong(std::move(what));
  }
  if (const auto known = deadline_of_.find(socket); known != deadline_of_.end()) {
    deadlines_.erase({known->second, socket});
    deadline_of_.erase(known);
  }
  slow_ones_.erase(socket);
  peers_.erase(socket);
}

void Siege::run() {
  while (begun_ < plan_.count || !peers_.empty()) {
    start_due();
    std::int64_t wait_ms = plan_.rate > 0 && begun_ < plan_.count ? 1 : 100;
    if (!deadlines_.empty())
      wait_ms = std::min(wait_ms, std::max<std::int64_t>(0, deadlines_.begin()->first - now_ms()));
    epoll_event events[128];
    const int ready = ::epoll_wait(epoll_, events, 128, static_cast<int>(wait_ms));
    for (int i = 0; i < ready; ++i) look_at(events[i].data.fd);
    while (!deadlines_.empty() && deadlines_.begin()->first <= now_ms()) {
      const auto [at, socket] = *deadlines_.begin();
      deadlines_.erase(deadlines_.begin());
      deadline_of_.erase(socket);
      look_at(socket);
    }
  }
  ended_ms_ = now_ms();
}

boost::json::object Siege::told() const {
  return {{"requests", begun_},
          {"seconds", static_cast<double>(ended_ms_ - began_ms_) / 1000},
          {"kinds", boost::json::value_from(kinds_)},
          {"answers", boost::json::value_from(answers_)},
          {"probes", probes_},
          {"slowest_probe_ms", slowest_probe_ms_},
          {"wrong_count", wrong_count_},
          {"wrong", boost::json::value_from(wrong_)}};
}

}  // namespace
}  // namespace hostile

int main(int argc, char** argv) {
  if (argc < 10) {
    std::fputs("hostile HOST PORT KEY PROBE COUNT SLOW RATE SEED PATIENCE_MS [tls]\n", stderr);
    return 2;
  }
  hostile::Plan plan;
  plan.target = {.host = argv[1],
                 .port = static_cast<std::uint16_t>(std::atoi(argv[2])),
                 .key = argv[3],
                 .probe = argv[4],
                 .is_tls = argc > 10};
  plan.count = std::strtoull(argv[5], nullptr, 10);
  plan.slow = std::strtoull(argv[6], nullptr, 10);
  plan.rate = std::atof(argv[7]);
  plan.slow_patience_ms = std::atoll(argv[9]);
  hostile::Siege siege(plan, std::strtoull(argv[8], nullptr, 10));
  siege.run();
  std::puts(boost::json::serialize(siege.told()).c_str());
  return 0;
}
