#include "fleets/fleet_shapes.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(FleetShapes, AreThoseThatTheRulesNameAndTheProviderHas) {
  const Result<std::vector<Shape>> offered = std::vector<Shape>{{"a", {}}, {"b", {}}, {"c", {}}};
  const auto names = [](const FleetShapes& of) {
    std::string out;
    for (const Shape& it : of.shapes) out += it.name;
    return out;
  };
  FleetRules rules{.provider = "command", .command = "cloud"};
  EXPECT_EQ(names(fleet_shapes(rules, offered)), "abc");
  rules.shapes = {"c", "a"};
  EXPECT_EQ(names(fleet_shapes(rules, offered)), "ca");
  EXPECT_EQ(fleet_shapes(rules, offered).missing, "");
  rules.shapes = {"x", "a", "y"};
  EXPECT_EQ(names(fleet_shapes(rules, offered)), "a");
  EXPECT_EQ(fleet_shapes(rules, offered).unavailable, "");
  EXPECT_EQ(fleet_shapes(rules, offered).missing, "provider 'command' has no shapes 'x' and 'y'; it has a, b and c");
  rules.shapes = {"x"};
  EXPECT_EQ(fleet_shapes(rules, offered).unavailable, "provider 'command' has no shape 'x'; it has a, b and c");
}

}  // namespace
}  // namespace drover
