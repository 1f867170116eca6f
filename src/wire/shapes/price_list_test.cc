#include "wire/shapes/price_list.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "wire/shapes/aws_types.h"
#include "wire/shapes/gcp_types.h"

namespace drover {
namespace {

PriceList prices_in(std::string_view text) {
  auto read = read_prices(text, "prices.yaml");
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return read ? *read : PriceList();
}

TEST(Prices, TablesAreSound) {
  std::set<std::string_view> names;
  const auto check = [&](const MachineType& it) {
    EXPECT_TRUE(names.insert(it.name).second) << it.name << " is there twice";
    EXPECT_GT(it.vcpus, 0) << it.name;
    EXPECT_GE(it.memory_mib, 512) << it.name;
    EXPECT_GT(it.spot_microdollars, 0) << it.name;
    EXPECT_LT(it.spot_microdollars, it.on_demand_microdollars) << it.name;
    EXPECT_EQ(it.accelerator == nullptr, it.accelerators == 0) << it.name;
    EXPECT_EQ(find_machine_type(it.name), &it);
  };
  for (const MachineType& it : kAwsTypes) check(it);
  for (const MachineType& it : kGcpTypes) check(it);
  EXPECT_EQ(find_machine_type("c5.tiny"), nullptr);
}

TEST(Prices, OfAShapeThatIsInTheTables) {
  const PriceList list;
  EXPECT_EQ(list.price_of("c5.large", {}, false), (HourlyPrice{85'000, 85'000}));
  EXPECT_EQ(list.price_of("c5.large", {}, true), (HourlyPrice{35'700, 85'000}));
  EXPECT_EQ(list.price_of("n2-standard-4", {}, false).microdollars, 194'240);
  EXPECT_EQ(list.price_of("small", {}, false), HourlyPrice{});
}

TEST(Prices, TheFileCountsBeforeTheProviderAndThatBeforeTheTables) {
  const PriceList list = prices_in(R"(
shapes:
  small: {price: 0.02, spot_price: 0.008}
  c5.large: {price: 0.09}
  c5.xlarge: {spot_price: 0.05}
  c5.2xlarge: {price: 0.1}
)");
  struct Case {
    const char* shape;
    ShapePrices offered;
    bool is_spot;
    HourlyPrice price;
  };
  const Case cases[] = {
      {"small", {}, false, {20'000, 20'000}},
      {"small", {}, true, {8'000, 20'000}},
      {"small", {500'000, 400'000}, true, {8'000, 20'000}},
      {"c5.large", {}, true, {35'700, 90'000}},
      {"c5.large", {70'000, 30'000}, true, {30'000, 90'000}},
      {"c5.xlarge", {}, true, {50'000, 170'000}},
      {"c5.xlarge", {}, false, {170'000, 170'000}},
      {"c5.2xlarge", {}, true, {100'000, 100'000}},  // no spot price is above the price on demand
      {"own", {70'000, 30'000}, true, {30'000, 70'000}},
      {"own", {70'000, std::nullopt}, true, {70'000, 70'000}},
      {"own", {std::nullopt, 30'000}, false, {30'000, 30'000}},
      {"own", {}, false, {0, 0}},
  };
  for (const Case& it : cases) {
    const HourlyPrice price = list.price_of(it.shape, it.offered, it.is_spot);
    EXPECT_EQ(price.microdollars, it.price.microdollars) << it.shape;
    EXPECT_EQ(price.on_demand_microdollars, it.price.on_demand_microdollars) << it.shape;
  }
  EXPECT_EQ(prices_in(R"({"shapes": {"a": {"price": 1}}})").price_of("a", {}, false).microdollars, 1'000'000);
}

TEST(Prices, ABrokenFileSaysWhereAndWhy) {
  struct Case {
    const char* text;
    const char* what;
  };
  const Case cases[] = {
      {"", "'shapes' is missing"},
      {"[1, 2]", "'shapes' is missing"},
      {"shapes: [small]", "'shapes' does not list shapes by name"},
      {"shapes: {small: {price: 1}", ""},
      {"shape: {}", "unknown field 'shape'"},
      {"{}", "'shapes' does not list shapes by name"},
      {"shapes:\n  small: 0.1", ":2: shape 'small' has no prices"},
      {"shapes:\n  small: {}", ":2: shape 'small' has no prices"},
      {"shapes:\n  sm all: {price: 1}", ":2: shape 'sm all' is not a valid name"},
      {"shapes:\n  small: {prize: 1}", ":2: unknown field 'prize'"},
      {"shapes:\n  small: {price: cheap}", ":2: 'price' of shape 'small' is not a number"},
      {"shapes:\n  small: {price: '0.1'}", ":2: 'price' of shape 'small' is not a number"},
      {"shapes:\n  small: {price: -0.1}", "'-0.1' is not an amount of dollars"},
      {"shapes:\n  small: {price: 0.0000001}", "'0.0000001' has more than 6 decimals"},
      {"shapes:\n  small: {price: 1e-3}", "'1e-3' is not an amount of dollars"},
      {"shapes:\n  small: {price: 1000001}", "'price' of shape 'small' is more than $1,000,000.00 per hour"},
      {"shapes:\n  small: {spot_price: 0.1}", ":2: shape 'small' has no 'price', and is not in the built-in price table"},
      {"shapes:\n  small: {price: 0.1, spot_price: 0.2}", ":2: shape 'small' has a 'spot_price' above its 'price'"},
      {"shapes:\n  small: {price: 1}\n  small: {price: 2}", "small"},
      {"shapes:\n  small: {price: 1, price: 2}", "price"},
  };
  for (const Case& it : cases) {
    const auto read = read_prices(it.text, "prices.yaml");
    ASSERT_FALSE(read) << it.text;
    EXPECT_TRUE(read.error().message.starts_with("prices file prices.yaml")) << read.error().message;
    EXPECT_TRUE(read.error().message.contains(it.what)) << it.text << "\n" << read.error().message;
    EXPECT_FALSE(read.error().next.empty()) << read.error().message;
  }
}

}  // namespace
}  // namespace drover
