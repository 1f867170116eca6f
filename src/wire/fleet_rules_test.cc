#include "wire/fleet_rules.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

namespace drover {
namespace {

std::string error_of(std::string_view text) {
  const auto rules = fleet_rules_from_json(text);
  return rules ? "" : rules.error().message;
}

TEST(FleetRulesJson, WhatIsWrittenIsReadBack) {
  FleetRules rules{
      .provider = "command", .least = 1, .most = 9, .most_milli_cpus = 64'000, .shapes = {"small", "c7g.large"}};
  rules.command = "mine";
  rules.labels = {{"zone", "a"}};
  rules.policy = ScalingPolicy::step;
  rules.stream = "s";
  rules.alarms = {{.comparison = Comparison::below,
                   .threshold = 7,
                   .adjustment = Adjustment::percent,
                   .min_magnitude = 2,
                   .steps = {{std::nullopt, -5, -50}, {-5, 0, -10}}}};
  rules.items_per_machine = 3;
  rules.desired = 4;
  rules.warm_up_ms = 5000;
  rules.idle_ms = 0;
  rules.period_ms = 10'000;
  rules.launches_per_minute = 6;
  rules.join_ms = 7000;
  rules.spot = true;
  rules.bid_percent = 70;
  const auto read = fleet_rules_from_json(boost::json::serialize(fleet_rules_to_json(rules)));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, rules);
}

TEST(FleetRulesJson, NothingSaidIsAsUsual) {
  const auto read = fleet_rules_from_json("{}");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, FleetRules{});
}

TEST(FleetRulesJson, ARecordOfAnOlderVersionIsRead) {
  EXPECT_EQ(
      error_of(
          R"({"provider":"ec2","least":0,"most":5,"spot":true,"bid_percent":100,"shapes":["c7g.large"],"policy":"demand"})"),
      "");
}

TEST(FleetRulesJson, StepsAreIntervalsOneAfterTheOther) {
  const auto with = [](std::string_view steps) {
    return error_of(std::string(R"({"alarms":[{"steps":)") + std::string(steps) + "}]}");
  };
  EXPECT_EQ(with(R"([{"lower":0,"upper":10,"value":1},{"lower":10,"value":2}])"), "");
  EXPECT_EQ(with(R"([{"lower":10,"value":2},{"lower":0,"upper":10,"value":1}])"), "") << "in any order";
  EXPECT_NE(with(R"([{"upper":0,"value":1},{"upper":10,"value":2}])"), "") << "two without a lower bound";
  EXPECT_NE(with(R"([{"lower":0,"upper":10,"value":1},{"lower":11,"value":2}])"), "");
  EXPECT_NE(with(R"([{"lower":0,"upper":10,"value":1},{"lower":9,"value":2}])"), "");
  EXPECT_NE(with(R"([{"value":1}])"), "");
}

TEST(FleetRulesJson, AStepChangesABoundedNumberOfMachines) {
  const auto with = [](std::string_view value) {
    return error_of(std::string(R"({"alarms":[{"steps":[{"lower":0,"value":)") + std::string(value) + "}]}]}");
  };
  EXPECT_EQ(with("1000000"), "");
  EXPECT_EQ(with("-1000000"), "");
  for (const char* value : {"1000001", "-1000001", "-9223372036854775808", "9223372036854775807", "1.5", "\"1\""}) {
    EXPECT_EQ(with(value), "field 'alarms' has a step whose 'value' is not a whole number from -1000000 to 1000000")
        << value;
  }
}

TEST(FleetRulesRequest, AFieldThatAppearsTwiceIsRefusedByName) {
  const auto error = [](std::string_view body) {
    const auto rules = fleet_rules_from_request(body);
    return rules ? "" : rules.error().message;
  };
  EXPECT_EQ(error(R"({"most":1})"), "");
  EXPECT_EQ(error(R"({"most":1,"least":0,"most":2})"), "field 'most' appears twice");
  EXPECT_EQ(error(R"({"labels":{"a":"b","a":"c"}})"), "field 'labels.a' appears twice");
  EXPECT_EQ(error(R"({"alarms":[{"steps":[{"lower":0,"lower":1,"value":1}]}]})"),
            "field 'alarms[0].steps[0].lower' appears twice");
  EXPECT_NE(error("[1"), "");
}

TEST(FleetRulesRequest, LabelsThatEveryMachineHasAreRefused) {
  for (const std::string name : {"fleet", "market", "shape"}) {
    const auto rules = fleet_rules_from_request("{\"labels\":{\"" + name + "\":\"x\"}}");
    ASSERT_FALSE(rules) << name;
    EXPECT_NE(rules.error().message.find("'" + name + "'"), std::string::npos) << rules.error().message;
  }
  EXPECT_TRUE(fleet_rules_from_json(R"({"labels":{"market":"x"}})")) << "in a ledger of an earlier version";
}

TEST(FleetRulesJson, TheCoreGetsTheBoundsThatItObeys) {
  FleetRules rules{.most = 7, .most_milli_cpus = 2000};
  rules.join_ms = 9000;
  const FleetSpec spec = fleet_spec("f", rules);
  EXPECT_EQ(spec.most, 7U);
  EXPECT_EQ(spec.most_milli_cpus, 2000U);
  EXPECT_EQ(spec.join_ms, 9000);
}

}  // namespace
}  // namespace drover
