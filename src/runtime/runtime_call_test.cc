#include "runtime/runtime_call.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

using Words = std::vector<const char*>;

RuntimeCall call_of(const Words& words) {
  auto call = parse_runtime_call(words);
  EXPECT_TRUE(call.has_value()) << (call ? "" : call.error().message);
  return call ? std::move(*call) : RuntimeCall{};
}

TEST(RuntimeCall, EachSpellingOfTheBundle) {
  for (const Words& words : {Words{"create", "--bundle", "/b", "id"}, Words{"create", "--bundle=/b", "id"},
                             Words{"create", "-bundle", "/b", "id"}, Words{"create", "-bundle=/b", "id"},
                             Words{"create", "-b", "/b", "id"}, Words{"create", "-b=/b", "id"},
                             Words{"--root", "/r", "create", "--pid-file", "/p", "--no-pivot", "-b", "/b", "id"}}) {
    const RuntimeCall call = call_of(words);
    EXPECT_EQ(call.bundle, "/b");
    EXPECT_TRUE(call.makes_container());
    EXPECT_EQ(call.forwarded, std::vector<std::string>(words.begin(), words.end())) << "the words stay as they are";
  }
}

TEST(RuntimeCall, WithoutABundleItIsTheCurrentFolder) {
  EXPECT_EQ(call_of({"create", "id"}).bundle, ".");
}

TEST(RuntimeCall, NamesDoNotFoolIt) {
  EXPECT_EQ(call_of({"create", "--bundle", "create", "run"}).bundle, "create");
  EXPECT_FALSE(call_of({"start", "create"}).makes_container());
  EXPECT_FALSE(call_of({"--root", "create", "state", "id"}).makes_container());
  EXPECT_FALSE(call_of({"--log=create", "delete", "--force", "create"}).makes_container());
  EXPECT_EQ(call_of({"create", "--pid-file", "--bundle", "id"}).bundle, ".") << "that is the name of a file";
  EXPECT_EQ(call_of({"create", "id", "--bundle", "/b"}).bundle, ".");
}

TEST(RuntimeCall, ABundleWithoutAValueFails) {
  const auto call = parse_runtime_call(Words{"create", "--bundle"});
  ASSERT_FALSE(call.has_value());
  EXPECT_EQ(call.error().message, "the option --bundle needs a value");
}

TEST(RuntimeCall, TheLogIsRead) {
  const RuntimeCall call = call_of(
      {"--root", "/r", "--log", "/l", "--log-format", "json", "--systemd-cgroup", "create", "--bundle", "/b", "id"});
  EXPECT_EQ(call.log, "/l");
  EXPECT_TRUE(call.logs_json);
  EXPECT_EQ(call.command, "create");
}

TEST(RuntimeCall, OurOptionsAreNotForwarded) {
  const RuntimeCall call =
      call_of({"--config", "/c", "--vendor=neuron", "--runtime-path", "/bin/crun", "--hook-config-path", "/h",
               "--hook-config-path=/i", "--debug", "create", "--config", "/crun.json", "id"});
  EXPECT_EQ(call.settings, "/c");
  EXPECT_EQ(call.vendor, AccelVendor::neuron);
  EXPECT_EQ(call.runtime, "/bin/crun");
  EXPECT_EQ(call.hook_files, (std::vector<std::string>{"/h", "/i"}));
  EXPECT_EQ(call.forwarded, (std::vector<std::string>{"--debug", "create", "--config", "/crun.json", "id"}));
  EXPECT_FALSE(parse_runtime_call(Words{"--vendor", "amd", "create"}).has_value());
}

TEST(RuntimeCall, BareWordsGoThrough) {
  EXPECT_EQ(call_of({"--version"}).forwarded, std::vector<std::string>{"--version"});
  EXPECT_EQ(call_of({"features"}).command, "features");
  EXPECT_TRUE(call_of({}).forwarded.empty());
}

}  // namespace
}  // namespace drover
