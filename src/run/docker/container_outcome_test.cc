#include "run/docker/container_outcome.h"

#include <gtest/gtest.h>

#include "run/docker/start_failure.h"

namespace drover {
namespace {

TEST(ContainerOutcome, ACodeIsACode) {
  EXPECT_EQ(outcome_of({}), Outcome{});
  EXPECT_EQ(outcome_of({.exit_code = 139}), (Outcome{.exit_code = 139}));
}

TEST(ContainerOutcome, LackOfMemoryIsToldAsOfProcesses) {
  EXPECT_EQ(outcome_of({.exit_code = 137, .had_oom_kill = true, .memory_limit = 64 << 20}),
            (Outcome{.ending = Ending::out_of_memory,
                     .exit_code = 137,
                     .reason = "out of memory: exited with code 137; the kernel killed it at its limit of 64 MiB"}));
  EXPECT_EQ(outcome_of({.exit_code = 1, .had_oom_kill = true}).reason,
            "out of memory: exited with code 1; the kernel killed one of its processes because the machine had no "
            "memory left");
  const Outcome survived = outcome_of({.had_oom_kill = true, .memory_limit = 1 << 20, .notes = {"a note"}});
  EXPECT_TRUE(survived.success());
  EXPECT_EQ(survived.reason, "exited with code 0; some of its processes were killed: out of memory; a note");
}

TEST(ContainerOutcome, TimesAreRead) {
  EXPECT_EQ(docker_time_us("1970-01-02T00:00:01.000002999Z"), 86'401'000'002);
  EXPECT_EQ(docker_time_us("1970-01-01T00:00:01.5Z"), 1'500'000);
  EXPECT_EQ(docker_time_us("1970-01-01T00:00:01Z"), 1'000'000);
  EXPECT_EQ(docker_time_us("0001-01-01T00:00:00Z"), 0) << "never";
  EXPECT_EQ(docker_time_us("soon"), 0);
}

TEST(StartFailure, IsTheWholeOutputAndTheRightCode) {
  const std::string message = "[FATAL tini (7)] exec nosuch failed: No such file or directory\n";
  EXPECT_EQ(start_failure(LogStream::err, message, 127), message.substr(0, message.size() - 1));
  EXPECT_EQ(start_failure(LogStream::err, message, 1), "");
  EXPECT_EQ(start_failure(LogStream::out, message, 127), "");
  EXPECT_EQ(start_failure(LogStream::err, message + "more\n", 127), "");
  EXPECT_EQ(start_failure(LogStream::err, "", 127), "");
  EXPECT_TRUE(may_be_start_failure(LogStream::err, "[FA"));
  EXPECT_FALSE(may_be_start_failure(LogStream::err, "[FB"));
  EXPECT_FALSE(may_be_start_failure(LogStream::err, "[FATAL tini (7)] exec " + std::string(10'000, 'x')));
}

TEST(StartFailure, EveryLayersWordsComeToTheSame) {
  const std::string missing = "could not start nosuch: not found in the container's PATH";
  EXPECT_EQ(why_not_started("nosuch", "[FATAL tini (7)] exec nosuch failed: No such file or directory"), missing);
  EXPECT_EQ(
      why_not_started("nosuch",
                      "failed to create shim task: OCI runtime create failed: runc create failed: unable to start "
                      "container process: exec: \"nosuch\": executable file not found in $PATH: unknown"),
      missing);
  EXPECT_EQ(why_not_started("/a/b",
                            "OCI runtime exec failed: exec failed: unable to start container process: exec: "
                            "\"/a/b\": stat /a/b: no such file or directory: unknown"),
            "could not start /a/b: No such file or directory");
  EXPECT_EQ(why_not_started("/a/b", "[FATAL tini (7)] exec /a/b failed: Permission denied"),
            "could not start /a/b: Permission denied");
  EXPECT_EQ(why_not_started("", "unable to find user x: no matching entries in passwd file"),
            "could not start the image's own command: unable to find user x: no matching entries in passwd file");
}

}  // namespace
}  // namespace drover
