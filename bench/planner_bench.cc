// planner_bench MACHINES JOBS ITEMS ROUNDS: what it costs to plan for fleets with so many machines, half of them busy,
// while so many items of so many jobs wait. Half of the jobs require labels, and of most it is known how long their
// items take, no two the same. Prints one line of JSON: the plan, the questions to the core that it is made from, and
// the commands that bring machines up and take them down.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <map>
#include <optional>
#include <semaphore>
#include <thread>
#include <vector>

#include "base/random.h"
#include "core/core.h"
#include "core/planner/plan.h"
#include "fleets/fleet_survey.h"
#include "fleets/plan_commands.h"
#include "measure.h"
#include "wire/fleet_rules.h"

namespace drover {
namespace {

constexpr std::uint64_t kFleets = 4;
constexpr std::uint64_t kClasses = 100;
constexpr std::uint64_t kSlots = 16;  // of a machine
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

std::string fleet_name(std::uint64_t number) {
  return fmt::format("fleet{}", number);
}

/// Two of the fleets are in each zone.
std::string zone(std::uint64_t fleet) {
  return fmt::format("zone{}", fleet % 2);
}

std::vector<Shape> shapes() {
  return {{"large", {4000, 16 * kGiB, {}}, {}},
          {"xlarge", {kSlots * 1000, 64 * kGiB, {}}, {}},
          {"gpu", {8000, 64 * kGiB, {1, 0, 0}}, {}}};
}

class Cloud {
 public:
  explicit Cloud(std::uint64_t machines) {
    FleetRules rules{.provider = "local", .most = 2 * machines, .warm_up_ms = 60'000};
    for (std::uint64_t i = 0; i < kFleets; ++i) {
      rules.labels = {{"zone", zone(i)}};
      tell(SetFleet{fleet_spec(fleet_name(i), rules)});
    }
    while (names_.size() < machines) launch(machines);
  }

  void submit(std::uint64_t jobs, std::uint64_t items) {
    for (std::uint64_t i = 0; i < jobs; ++i) {
      SubmitJob job;
      for (int byte = 0; byte < 8; ++byte) job.uuid.bytes[byte] = static_cast<std::uint8_t>((i + 1) >> (8 * byte));
      job.name = "job";
      job.total = items / jobs;
      const std::uint64_t kind = i % kClasses;
      job.ask = {1000 * (1 + kind % 4), (1 + kind / 4) * kGiB / 4, {kind % 10 == 9, 0, 0}};
      if (kind % 4 == 1) job.require["zone"] = zone(kind / 4);
      if (kind % 4 == 3) job.require["shape"] = shapes()[kind % 10 == 9 ? 2 : kind / 4 % 2].name;
      tell(job);
    }
  }

  /// Every second machine takes as much as it holds, and has done some of it.
  void fill() {
    for (std::uint64_t i = 0; i < names_.size(); i += 2) {
      const WorkerId worker{i + 1};
      for (const Lease& lease : take(worker, PollNumber{1})) end_first(worker, lease);
      take(worker, PollNumber{2});
    }
  }

  FleetSurvey look() {
    FleetSurvey survey(now_ms_, [](const FleetRules&) { return std::optional(Result<std::vector<Shape>>(shapes())); });
    while (const auto question = survey.next()) must(survey.take(tell(*question)));
    return survey;
  }

  /// Some machines more, and some fewer.
  void carry_out(const FleetPlan& plan) {
    for (const ScaleFleet& it : scale_commands(plan, [this] { return random_.below(UINT64_MAX); })) {
      tell(it);
      for (const ScaleFleet::Launch& launch : it.launches) tell(MachineNews{.machine = launch.machine, .text = "i-1"});
    }
  }

  ~Cloud() {
    told_ = nullptr;
    asked_.release();
  }
  Cloud(const Cloud&) = delete;
  Cloud& operator=(const Cloud&) = delete;

  double longest_ms() const { return 1e3 * longest_seconds_; }
  /// Which kind of command took so long.
  std::string_view longest() const {
    if (longest_ == Command(AskFleets{}).index()) return "question";
    if (longest_ == Command(ScaleFleet{}).index()) return "scale";
    if (longest_ == Command(RegisterWorker{}).index()) return "register";
    return longest_ == Command(Poll{}).index() ? "poll" : "other";
  }

 private:
  void launch(std::uint64_t machines) {
    const std::uint64_t begun = names_.size();
    ScaleFleet command{.fleet = fleet_name(begun / ScaleFleet::kMost % kFleets)};
    while (command.launches.size() < ScaleFleet::kMost && begun + command.launches.size() < machines) {
      const Shape shape = shapes()[random_.below(3)];
      command.launches.push_back(
          {fmt::format("m{:06}", begun + command.launches.size()), shape.name, shape.has, "items wait", {}});
    }
    tell(command);
    for (const ScaleFleet::Launch& it : command.launches) {
      tell(MachineNews{.machine = it.machine, .what = MachineNews::What::accepted, .text = "i-" + it.machine});
      RegisterWorker hello{it.machine, 1, 0};
      hello.has = it.has;
      hello.fleet = command.fleet;
      hello.labels = {{"fleet", command.fleet}, {"shape", it.shape}, {"zone", zone(begun / ScaleFleet::kMost)}};
      tell(hello);
      names_.push_back(it.machine);
    }
  }

  std::vector<Lease> take(WorkerId worker, PollNumber number) {
    Poll poll;
    poll.report = {worker, 1, {}, {}, {}};
    poll.number = number;
    poll.want = kSlots;
    poll.room = core_.durable().workers.at(worker).has;
    const Effect effect = tell(poll);
    const auto* answer = std::get_if<PollAnswer>(&effect);
    return answer == nullptr ? std::vector<Lease>() : answer->leases;
  }

  void end_first(WorkerId worker, const Lease& lease) {
    Report report{.worker = worker, .incarnation = 1, .ended = {}, .running = {}, .returned = {}};
    const auto wall_ms = static_cast<std::int64_t>(10'000 + random_.below(1'000'000));
    report.ended.push_back({{lease.grant, lease.first}, Outcome{}, Usage{now_ms_ - wall_ms, wall_ms * 1000, 1, 1, 1}});
    tell(report);
  }

  /// On a thread of the core's own, as in a server: what one thread has allocated and another frees costs both.
  Effect tell(const Command& command) {
    told_ = &command;
    asked_.release();
    answered_.acquire();
    return std::move(effect_);
  }

  void run() {
    for (asked_.acquire(); told_ != nullptr; asked_.acquire()) {
      effect_ = carry_out_one(*told_);
      answered_.release();
    }
  }

  Effect carry_out_one(const Command& command) {
    if (++tickets_ % 50 == 0) now_ms_ += 1;
    const CpuStopwatch watch;
    core_.apply(Ticket{tickets_}, command, now_ms_);
    if (const double seconds = watch.seconds(); seconds > longest_seconds_) {
      longest_seconds_ = seconds;
      longest_ = command.index();
    }
    std::optional<Effect> out;
    for (Answer& answer : core_.take_answers()) {
      if (std::holds_alternative<Refused>(answer.effect)) give_up(std::get<Refused>(answer.effect).error.message);
      if (answer.to.value == tickets_) out = std::move(answer.effect);
    }
    if (tickets_ % 100 == 0) core_.take_mutations();
    return out ? std::move(*out) : Effect(FleetsChanged{});
  }

  Core core_;
  Random random_{1};
  std::int64_t now_ms_ = 1'800'000'000'000;
  std::uint64_t tickets_ = 0;
  double longest_seconds_ = 0;
  std::size_t longest_ = 0;
  std::vector<std::string> names_;
  const Command* told_ = nullptr;  // null: it is over
  Effect effect_;
  std::binary_semaphore asked_{0};
  std::binary_semaphore answered_{0};
  std::jthread thread_{[this] { run(); }};
};

double median(std::vector<double> all) {
  std::ranges::sort(all);
  return all[all.size() / 2];
}

void measure(std::uint64_t machines, std::uint64_t jobs, std::uint64_t items, std::uint64_t rounds) {
  Cloud cloud(machines);
  cloud.submit(jobs, items);
  cloud.fill();
  std::vector<double> plans, looks;
  std::size_t launches = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const Stopwatch of_look;
    const FleetSurvey survey = cloud.look();
    looks.push_back(of_look.seconds());
    const CpuStopwatch of_plan;
    const FleetPlan plan = make_plan(survey.snapshot());
    plans.push_back(of_plan.seconds());
    launches += plan.launches.size();
    cloud.carry_out(plan);
  }
  if (machines > 100 && launches == 0) give_up("nothing was planned although items wait");
  fmt::print(
      "{{\"machines\": {}, \"jobs\": {}, \"items\": {}, \"plan_ms\": {:.3f}, \"longest_plan_ms\": {:.3f}, "
      "\"look_ms\": {:.3f}, \"longest_command_ms\": {:.3f}, \"longest_command\": \"{}\"}}\n",
      machines, jobs, items, 1e3 * median(plans), 1e3 * std::ranges::max(plans), 1e3 * median(looks),
      cloud.longest_ms(), cloud.longest());
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  if (argc != 5) drover::give_up("usage: planner_bench MACHINES JOBS ITEMS ROUNDS");
  // What a plan returns to the system must not be fetched again by commands: in a server others keep the memory in use.
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  drover::measure(std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10),
                  std::strtoull(argv[3], nullptr, 10), std::strtoull(argv[4], nullptr, 10));
  return 0;
}
