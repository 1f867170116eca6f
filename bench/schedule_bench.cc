// schedule_bench QUEUES JOBS WORKERS ITEMS DECISIONS KINDS ENDED: what it costs the core to decide who is next. ITEMS
// are all of them; a hundred classes of requirements, and half of the jobs fit no worker. The workers are of KINDS
// kinds, and ENDED jobs have ended before. Prints one line of JSON.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/random.h"
#include "core/core.h"
#include "measure.h"

namespace drover {
namespace {

constexpr std::uint64_t kClasses = 100;
constexpr std::uint64_t kPriorities = 10;
constexpr std::uint64_t kShares = 5;
constexpr std::uint64_t kSlots = 8;  // of a worker
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

struct Size {
  std::uint64_t queues = 0;
  std::uint64_t jobs = 0;
  std::uint64_t workers = 0;
  std::uint64_t items = 0;
  std::uint64_t decisions = 0;
  std::uint64_t kinds = 0;
  std::uint64_t ended = 0;
};

struct ByGrant {
  bool operator()(const Token& a, const Token& b) const {
    return std::pair(a.grant, a.item) < std::pair(b.grant, b.item);
  }
};

/// A farm whose every worker is full: whoever tells of an end is given something else.
class Farm {
 public:
  static constexpr std::uint64_t kLooks = 200'000;

  explicit Farm(const Size& size) : size_(size) {
    for (std::uint64_t i = 0; i < size.queues; ++i) {
      Queue queue{.name = queue_name(i)};
      queue.priority = static_cast<std::uint32_t>(1 + i % kPriorities);
      queue.order = i / kPriorities % 2 == 0 ? QueueOrder::fair : QueueOrder::first_come;
      queue.weights = {{"share0", 20'000}};
      tell(SetQueue{queue});
    }
    for (std::uint64_t i = 0; i < size.workers; ++i) {
      RegisterWorker hello{fmt::format("worker{}", i), 1, 0};
      // Machines of one model differ in the bytes of memory that their systems leave.
      hello.has = {kSlots * 1000, (16 + 16 * (i % 4)) * kGiB + i % size.kinds * 4096, {i % 2 * 4, 0, 0}};
      hello.labels["zone"] = fmt::format("z{}", i % 5);
      tell(hello);
    }
    for (std::uint64_t i = 0; i < size.ended; ++i) submit(i, 0);  // a job without items ends as it begins
  }

  void submit_all() {
    for (std::uint64_t i = 0; i < size_.jobs; ++i) submit(i, size_.items / size_.jobs);
  }

  /// One in two asks for what nobody has.
  void submit(std::uint64_t number, std::uint64_t total) {
    SubmitJob job;
    for (int byte = 0; byte < 8; ++byte) job.uuid.bytes[byte] = static_cast<std::uint8_t>(++uuids_ >> (8 * byte));
    job.name = "job";
    job.total = total;
    const std::uint64_t kind = number % kClasses;
    job.ask = {1000, (1 + kind / 2 % 10) * kGiB / 8, {}};
    if (kind % 2 == 1) {
      job.require["zone"] = fmt::format("nowhere{}", kind / 20);
    } else if (kind / 20 > 0) {
      job.require["zone"] = fmt::format("z{}", kind / 20);
    }
    job.place.queue = queue_name(random_.below(size_.queues));
    job.place.share = fmt::format("share{}", random_.below(kShares));
    job.place.priority = static_cast<std::uint32_t>(random_.below(3));
    tell(job);
  }

  void fill() {
    for (std::uint64_t i = 1; i <= size_.workers; ++i) poll(WorkerId{i}, {}, kSlots, 0);
  }

  /// The seconds of each decision: a worker tells of one that ended, and is given one.
  std::vector<double> decide() {
    std::vector<double> took;
    for (std::uint64_t i = 0; i < size_.decisions; ++i) {
      const WorkerId worker{1 + random_.below(size_.workers)};
      std::vector<Token>& held = held_[worker];
      const std::size_t which = random_.below(held.size());
      std::swap(held[which], held.back());
      EndedAttempt ended;
      ended.token = held.back();
      held.pop_back();
      ended.usage = {now_ms_ - 1000, 1'000'000, 900'000, 50'000, 1200};
      const std::size_t before = held.size();
      took.push_back(poll(worker, {ended}, 1, 0));
      if (held.size() != before + 1) give_up("a full farm with work gave nothing");
    }
    return took;
  }

  /// The seconds that finding one item that runs, in a tree of all of them, takes: what the logarithm costs here.
  double look_up() {
    std::vector<std::pair<Token, WorkerId>> all;
    std::map<Token, WorkerId, ByGrant> tree;
    for (const auto& [worker, tokens] : held_)
      for (const Token& token : tokens) all.emplace_back(token, worker);
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random_.below(i)]);
    tree.insert(all.begin(), all.end());
    const CpuStopwatch watch;
    for (std::uint64_t i = 0; i < kLooks; ++i) {
      const auto& [token, worker] = all[random_.below(all.size())];
      if (tree.at(token) != worker) give_up("a tree lost what was put into it");
    }
    return watch.seconds() / kLooks;
  }

  /// The seconds of each submission of one item while everybody waits: somebody is answered with it.
  std::vector<double> submit_to_waiting() {
    for (std::uint64_t i = 1; i <= size_.workers; ++i) poll(WorkerId{i}, {}, kSlots, 3'600'000);
    std::vector<double> took;
    for (std::uint64_t i = 0; i < size_.decisions; ++i) {
      now_ms_ += 1;
      given_ = {};
      submit(2 * random_.below(kClasses / 2), 1);
      took.push_back(last_seconds_);
      if (!given_) give_up("a job for those who wait was given to nobody");
      const WorkerId worker = given_;
      EndedAttempt ended;
      ended.token = held_.at(worker).back();
      held_.at(worker).pop_back();
      ended.usage = {now_ms_, 1000, 900, 50, 1200};
      tell(Report{.worker = worker, .incarnation = 1, .ended = {ended}});
      poll(worker, {}, kSlots, 3'600'000);
    }
    return took;
  }

 private:
  std::string queue_name(std::uint64_t i) const { return fmt::format("queue{}", i); }

  double poll(WorkerId worker, std::vector<EndedAttempt> ended, std::uint64_t want, std::int64_t wait_ms) {
    Poll poll;
    poll.report = {worker, 1, std::move(ended), {}, {}};
    poll.number = PollNumber{++polls_};
    poll.want = want;
    poll.wait_ms = wait_ms;
    const Worker& has = core_.durable().workers.at(worker);
    poll.room = has.has;
    poll.room.milli_cpus = want * 1000;
    poll_of_[tickets_ + 1] = worker;
    tell(poll);
    return last_seconds_;
  }

  void tell(const Command& command) {
    if (++tickets_ % 50 == 0) now_ms_ += 1;
    const CpuStopwatch watch;
    core_.apply(Ticket{tickets_}, command, now_ms_);
    last_seconds_ = watch.seconds();
    for (const Answer& answer : core_.take_answers()) {
      if (std::holds_alternative<Refused>(answer.effect)) give_up(std::get<Refused>(answer.effect).error.message);
      const auto* leased = std::get_if<PollAnswer>(&answer.effect);
      if (leased == nullptr) continue;
      const auto worker = poll_of_.extract(answer.to.value).mapped();
      for (const Lease& lease : leased->leases) {
        given_ = worker;
        for (std::uint64_t i = 0; i < lease.count; ++i)
          held_[worker].push_back({lease.grant, ItemIndex{lease.first.value + i}});
      }
    }
    if (tickets_ % 100 == 0) core_.take_mutations();
  }

  const Size size_;
  Core core_;
  Random random_{1};
  std::int64_t now_ms_ = 1'800'000'000'000;
  std::uint64_t tickets_ = 0;
  std::uint64_t polls_ = 0;
  std::uint64_t uuids_ = 0;
  double last_seconds_ = 0;
  WorkerId given_;
  std::map<std::uint64_t, WorkerId> poll_of_;
  std::map<WorkerId, std::vector<Token>> held_;
};

double mean(const std::vector<double>& all) {
  double sum = 0;
  for (const double it : all) sum += it;
  return sum / static_cast<double>(all.size());
}

double at(std::vector<double> all, std::size_t percent) {
  std::ranges::sort(all);
  return all[std::min(all.size() - 1, all.size() * percent / 100)];
}

std::string figures(const std::string& name, const std::vector<double>& took) {
  return fmt::format(R"("{0}_us": {1:.3f}, "{0}_p50_us": {2:.3f}, "{0}_p99_us": {3:.3f}, "{0}_most_us": {4:.1f})", name,
                     1e6 * mean(took), 1e6 * at(took, 50), 1e6 * at(took, 99), 1e6 * at(took, 100));
}

void measure(const Size& size) {
  Farm busy(size);
  busy.submit_all();
  busy.fill();
  const std::vector<double> decisions = busy.decide();
  const double look = busy.look_up();
  Farm idle(size);
  const std::vector<double> submissions = idle.submit_to_waiting();
  fmt::print(
      "{{\"queues\": {}, \"jobs\": {}, \"workers\": {}, \"items\": {}, \"kinds\": {}, \"ended\": {}, \"peak_kib\": {}, "
      "\"look_us\": {:.4f}, {}, "
      "{}}}\n",
      size.queues, size.jobs, size.workers, size.items, size.kinds, size.ended, peak_resident_kib(), 1e6 * look,
      figures("decision", decisions), figures("submission", submissions));
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  if (argc != 8) {
    std::fputs("usage: schedule_bench QUEUES JOBS WORKERS ITEMS DECISIONS KINDS ENDED\n", stderr);
    return 2;
  }
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  drover::measure({number(1), number(2), number(3), number(4), number(5), number(6), number(7)});
}
