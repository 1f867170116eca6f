#include "fleets/plan_commands.h"

#include <gtest/gtest.h>

#include "fleets/fleet_survey.h"
#include "wire/fleet_rules.h"

namespace drover {
namespace {

TEST(PlanCommands, EachMachineHasANameOfItsOwn) {
  const FleetPlan plan{.launches = {{"b", {"small", {1000, 0, {}}}, "work waits"}, {"b", {"small", {}}, "work waits"}},
                       .drains = {{"a", "a-1", "idle for 60 s"}},
                       .notes = {}};
  std::uint64_t number = 0;
  const auto commands = scale_commands(plan, [&] { return ++number << 16; });
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_EQ(commands[0].fleet, "a");
  EXPECT_EQ(commands[0].drains.at(0).machine, "a-1");
  EXPECT_EQ(commands[1].launches.at(0).machine, "b-100000000000");
  EXPECT_EQ(commands[1].launches.at(1).machine, "b-200000000000");
  EXPECT_EQ(commands[1].launches.at(0).has.milli_cpus, 1000U);
}

TEST(PlanCommands, PeopleAreToldWhatIsDoneAndWhyNotMore) {
  const FleetPlan plan{.launches = {{"f", {"small", {}}, "2 items wait"}, {"f", {"small", {}}, "2 items wait"}},
                       .drains = {{"f", "f-1", "idle for 60 s"}, {"other", "o-1", "idle for 60 s"}},
                       .notes = {{"f", "at the maximum of 3 machines"}}};
  const std::vector<std::string> said = explained(plan, {.name = "f"});
  EXPECT_EQ(said, (std::vector<std::string>{"launch 2 machines of shape 'small': 2 items wait",
                                            "drain f-1: idle for 60 s", "at the maximum of 3 machines"}));
  EXPECT_EQ(explained(plan, {.name = "idle"}), std::vector<std::string>{"nothing to do"});
  EXPECT_EQ(explained(plan, {.name = "x", .unavailable = "no such provider"}),
            std::vector<std::string>{"no such provider"});
}

MachineRecord machine(const std::string& name) {
  return std::make_shared<const Machine>(Machine{.name = name, .fleet = "f"});
}

/// The answers of a core, page after page.
FleetsNow page(std::vector<MachineView> machines, std::vector<JobDemand> jobs, bool more) {
  FleetsNow out{.fleets = {}, .machines = std::move(machines), .jobs = std::move(jobs)};
  out.more_machines = out.more_jobs = more;
  return out;
}

TEST(FleetSurvey, AsksUntilAllPagesAndStreamsAreKnown) {
  FleetSurvey survey(7, [](const FleetRules& rules) -> std::optional<Result<std::vector<Shape>>> {
    if (kind_name(rules) != "command cloud") return std::nullopt;
    return std::vector<Shape>{{"c1", {1000, 0, {}}}};
  });
  FleetRules rules{.provider = "command", .command = "cloud", .most = 3};
  rules.policy = ScalingPolicy::backlog;
  rules.stream = "orders";
  rules.items_per_machine = 1;
  FleetsNow first = page({{.machine = machine("m1")}}, {{.job = JobId{1}, .waiting = 2}}, true);
  first.fleets.emplace_back();
  static_cast<FleetSpec&>(first.fleets.back()) = fleet_spec("f", rules);
  ASSERT_TRUE(survey.take(Effect(first)));
  const auto question = survey.next();
  ASSERT_TRUE(question);
  EXPECT_EQ(std::get<AskFleets>(*question).machines_after, "m1");
  EXPECT_EQ(std::get<AskFleets>(*question).jobs_after, JobId{1});
  ASSERT_TRUE(
      survey.take(Effect(page({{.machine = machine("m2")}}, {{.job = JobId{2}, .waiting = 3}}, false))));
  ASSERT_EQ(std::get<AskStreams>(survey.next().value()).stream, "orders");
  ASSERT_TRUE(survey.take(fail(ErrorCode::not_found, "no such stream")));
  EXPECT_FALSE(survey.next());
  EXPECT_EQ(survey.machines().size(), 2U);
  ASSERT_EQ(survey.snapshot().items.size(), 1U) << "items that cannot be told apart count together";
  EXPECT_EQ(survey.snapshot().items[0].waiting, 5U);
  EXPECT_EQ(survey.snapshot().now_ms, 7);
  EXPECT_TRUE(survey.has_work());
}

TEST(FleetSurvey, SaysWhyAFleetCanLaunchNothing) {
  FleetSurvey survey(0, [](const FleetRules&) { return std::nullopt; });
  FleetsNow all = page({}, {}, false);
  all.fleets.resize(2);
  static_cast<FleetSpec&>(all.fleets[0]) = fleet_spec("a", {.provider = "none"});
  static_cast<FleetSpec&>(all.fleets[1]) = fleet_spec("b", {.provider = "ec2"});
  ASSERT_TRUE(survey.take(Effect(all)));
  EXPECT_EQ(survey.find("a")->unavailable, "provider 'none' launches no machines: start its workers yourself");
  EXPECT_EQ(survey.find("b")->unavailable, "provider 'ec2' is not available on this server");
  EXPECT_FALSE(survey.has_work());
}

}  // namespace
}  // namespace drover
