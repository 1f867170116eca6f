#include "server/reach.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace drover {
namespace {

using Names = std::vector<std::string>;

const Reach kTwoNetworks{.machine = {"10.0.0.1", "192.0.2.7", "2001:db8::1"}, .name = "head"};

TEST(Reach, AllAddressesMeansThoseOfTheMachine) {
  EXPECT_EQ(kTwoNetworks.from_elsewhere("0.0.0.0:8750"), (Names{"10.0.0.1:8750", "192.0.2.7:8750"}));
  EXPECT_EQ(kTwoNetworks.from_elsewhere("[::]:8750"), (Names{"10.0.0.1:8750", "192.0.2.7:8750", "[2001:db8::1]:8750"}));
  EXPECT_EQ(Reach::from_here("0.0.0.0:8750"), "127.0.0.1:8750");
  EXPECT_EQ(Reach::from_here("[::]:8750"), "[::1]:8750");
}

TEST(Reach, OneAddressIsItself) {
  EXPECT_EQ(kTwoNetworks.from_elsewhere("10.0.0.1:8750"), (Names{"10.0.0.1:8750"}));
  EXPECT_EQ(Reach::from_here("10.0.0.1:8750"), "10.0.0.1:8750");
  EXPECT_EQ(Reach::from_here("[2001:db8::1]:8750"), "[2001:db8::1]:8750");
}

TEST(Reach, AMachineWithoutANetworkHasItself) {
  EXPECT_EQ(Reach{}.from_elsewhere("0.0.0.0:8750"), (Names{"127.0.0.1:8750"}));
}

TEST(Reach, TheCertificateNamesEveryWayToIt) {
  EXPECT_EQ(
      kTwoNetworks.certificate_names({"0.0.0.0:8750", "unix:/run/drover.sock"}, {"head.example.org", "proxy:443"}),
      (Names{"localhost", "127.0.0.1", "::1", "10.0.0.1", "192.0.2.7", "2001:db8::1", "head", "head.example.org",
             "proxy"}));
  EXPECT_EQ(kTwoNetworks.certificate_names({"[2001:db8::1]:8750"}, {}),
            (Names{"localhost", "127.0.0.1", "::1", "2001:db8::1"}));
}

TEST(Reach, WhatOnlyThisMachineReachesIsNotAmongItsAddresses) {
  for (const std::string& address : machine_addresses()) {
    EXPECT_FALSE(address.starts_with("127.") || address == "::1" || address.starts_with("fe80")) << address;
  }
}

}  // namespace
}  // namespace drover
