#include <sys/mount.h>

#include "run/container_fixture.h"

namespace drover {
namespace {

TEST_P(ContainerTest, RunsACommandInTheImage) {
  const Ended ended = sh("echo out; echo err >&2; ls /; exit 3");
  EXPECT_EQ(ended.outcome.ending, Ending::exited) << ended.outcome.reason;
  EXPECT_EQ(ended.outcome.exit_code, 3);
  EXPECT_TRUE(ended.out.starts_with("out\nbin\ndev\netc\n")) << ended.out;
  EXPECT_EQ(ended.err, "err\n");
}

TEST_P(ContainerTest, EachItemHasAFreshRoot) {
  EXPECT_EQ(sh("echo mine > /note; ls /note").out, "/note\n");
  EXPECT_EQ(sh("ls /note").outcome.exit_code, 1);
  EXPECT_FALSE(std::filesystem::exists(layer_ / "note"));
}

TEST_P(ContainerTest, ASignalReadsAsAnExitCode) {
  const Ended ended = sh("kill -9 $$");
  EXPECT_EQ(ended.outcome.ending, Ending::exited);
  EXPECT_EQ(ended.outcome.exit_code, 137);
}

TEST_P(ContainerTest, ACommandThatIsNotThereIsNamed) {
  use_plan();
  const Ended ended = run(task({"no-such-program", "x"}));
  EXPECT_EQ(ended.outcome.ending, Ending::not_started);
  EXPECT_EQ(ended.outcome.reason, "could not start no-such-program: not found in the container's PATH");
}

TEST_P(ContainerTest, AnyByteGetsThrough) {
  use_plan();
  Task odd = task({"sh", "-c", "printf '%s|' \"$@\" \"$ODD\"", "sh", "a b", "\xff\xfe", "", "tab\there"});
  odd.environment = {"ODD=\x80\x81"};
  EXPECT_EQ(run(odd).out, "a b|\xff\xfe||tab\there|\x80\x81|");
}

TEST_P(ContainerTest, TermReachesTheItem) {
  use_plan();
  const Task task = this->task({"sh", "-c", "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"});
  start(task);
  ASSERT_TRUE(std::holds_alternative<AttemptPrinted>(next_event_of_any_kind()));
  stop(task, StopHow::terminate);
  const Ended ended = next_end();
  EXPECT_EQ(ended.outcome.exit_code, 7);
  EXPECT_TRUE(ended.out.ends_with("bye\n")) << ended.out;
  EXPECT_TRUE(ended.was_stopped);
}

TEST_P(ContainerTest, KillEndsEverythingInside) {
  use_plan();
  const Task task = this->task({"sh", "-c", "trap '' TERM; setsid sleep 1000 & echo ready; sleep 1000"});
  start(task);
  ASSERT_TRUE(std::holds_alternative<AttemptPrinted>(next_event_of_any_kind()));
  stop(task, StopHow::kill);
  EXPECT_EQ(next_end().outcome.exit_code, 137);
}

TEST_P(ContainerTest, OutOfMemoryIsNamed) {
  setup_.limits.memory_bytes = 32 << 20;
  const Ended ended = sh("tail /dev/zero");
  EXPECT_EQ(ended.outcome.ending, Ending::out_of_memory) << ended.outcome.reason;
  EXPECT_NE(ended.outcome.reason.find("at its limit of 32 MiB"), std::string::npos) << ended.outcome.reason;
  // What the one before did is not held against the next.
  EXPECT_TRUE(sh("true").outcome.success());
}

TEST_P(ContainerTest, ProcessesAreLimited) {
  setup_.limits.processes = 8;
  const Ended ended = sh("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 20 & done; echo all");
  EXPECT_NE(ended.err.find("fork"), std::string::npos) << ended.err;
}

TEST_P(ContainerTest, CpusAreLimited) {
  setup_.limits.milli_cpus = 200;
  const Ended ended = sh("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
  const double used = static_cast<double>(ended.usage.user_us + ended.usage.system_us);
  EXPECT_LT(used / static_cast<double>(ended.usage.wall_us), 0.5);
}

TEST_P(ContainerTest, UsageIsTheItemsOwn) {
  const Ended ended = sh("true");
  EXPECT_LT(ended.usage.peak_memory_kib, 8 << 10);
  EXPECT_LT(ended.usage.user_us + ended.usage.system_us, 50'000);
}

TEST_P(ContainerTest, TheImagesUserIsFound) {
  plan_.image.user = "ann";
  EXPECT_EQ(sh("id -u; id -g; id -G").out, "1000\n1001\n1001 1002\n");
}

TEST_P(ContainerTest, TheDefinitionsUserComesFirst) {
  plan_.image.user = "ann";
  plan_.options.user = "7:8";
  EXPECT_EQ(sh("id -u; id -g").out, "7\n8\n");
}

TEST_P(ContainerTest, MountsAreSeenInside) {
  const auto shared = folder_ / "shared";
  std::filesystem::create_directories(shared);
  write(shared / "in", "given\n");
  plan_.options.mounts = {{shared, "/data", false}, {shared, "/fixed", true}};
  const Ended ended = sh("cat /data/in; echo back > /data/out; echo no > /fixed/out2");
  EXPECT_EQ(ended.out, "given\n");
  EXPECT_NE(ended.err.find("Read-only file system"), std::string::npos) << ended.err;
  EXPECT_EQ(read_file(shared / "out"), "back\n");
}

TEST_P(ContainerTest, AVolumeLastsFromItemToItem) {
  plan_.options.mounts = {{"cache", "/cache", false}};
  EXPECT_TRUE(sh("echo kept > /cache/x").outcome.success());
  EXPECT_EQ(sh("cat /cache/x").out, "kept\n");
}

TEST_P(ContainerTest, WhatLiesBelowAReadOnlyMountIsReadOnlyToo) {
  const auto shared = folder_ / "shared";
  std::filesystem::create_directories(shared / "below");
  ASSERT_EQ(::mount("none", (shared / "below").c_str(), "tmpfs", 0, "size=64k"), 0);
  plan_.options.mounts = {{shared, "/data", true}};
  const Ended ended = sh("touch /data/below/x");
  slot_.reset();
  ::umount2((shared / "below").c_str(), MNT_DETACH);
  EXPECT_NE(ended.err.find("Read-only file system"), std::string::npos) << ended.err;
}

TEST_P(ContainerTest, WhateverTheUmaskOfTheWorkerIs) {
  const mode_t before = ::umask(077);
  plan_.options.user = "ann";
  const Ended ended = sh("umask; cat /etc/hostname > /dev/null && echo seen");
  ::umask(before);
  EXPECT_EQ(ended.out, "0022\nseen\n") << ended.outcome.reason << ended.err;
}

TEST_P(ContainerTest, ThereIsAHome) {
  plan_.options.user = "ann";
  EXPECT_EQ(sh("echo $HOME").out, "/home/ann\n");
  slot_.reset();
  setup_.environment.emplace_back("HOME=/else");
  EXPECT_EQ(sh("echo $HOME").out, "/else\n");
}

TEST_P(ContainerTest, NobodyIsTooLargeANumber) {
  plan_.options.user = "4294967295";
  use_plan();
  const auto opened = runner_.open_slot(setup_);
  ASSERT_FALSE(opened.has_value());
  EXPECT_NE(opened.error().message.find("cannot run as 4294967295"), std::string::npos) << opened.error().message;
}

TEST_P(ContainerTest, WhatLiesInAMountIsSeen) {
  check_mounts_in_mounts();
}

TEST_P(ContainerTest, AMountThatIsNotThereIsAnError) {
  plan_.options.mounts = {{folder_ / "nowhere", "/data", false}};
  use_plan();
  const auto opened = runner_.open_slot(setup_);
  ASSERT_FALSE(opened.has_value());
  EXPECT_NE(opened.error().message.find("nowhere: no such file or folder"), std::string::npos);
}

TEST_P(ContainerTest, AReadOnlyRootStaysAsItIs) {
  plan_.options.read_only = true;
  plan_.options.tmpfs = {{"/scratch", 1 << 20}};
  const Ended ended =
      sh("touch /x; echo fine > /scratch/x; cat /scratch/x; dd if=/dev/zero of=/scratch/y bs=1M count=3");
  EXPECT_NE(ended.err.find("/x: Read-only file system"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("No space left"), std::string::npos) << ended.err;
  EXPECT_EQ(ended.out, "fine\n");
}

TEST_P(ContainerTest, SharedMemoryHasItsSize) {
  plan_.options.shm_bytes = 8 << 20;
  EXPECT_NE(sh("df -k /dev/shm").out.find(" 8192 "), std::string::npos);
}

TEST_P(ContainerTest, WithoutANetworkThereIsOnlyALoopback) {
  plan_.options.network = ContainerNetwork::none;
  EXPECT_EQ(sh("ls /sys/class/net; ip -o link | wc -l").out.find("lo\n"), 0U);
}

TEST_P(ContainerTest, TheHostsNetworkIsTheDefault) {
  EXPECT_EQ(sh("readlink /proc/self/ns/net").out, std::filesystem::read_symlink("/proc/self/ns/net").string() + "\n");
}

TEST_P(ContainerTest, ItSeesOnlyItsOwnProcesses) {
  EXPECT_EQ(sh("ls -d /proc/[0-9]* | wc -l").outcome.exit_code, 0);
  EXPECT_EQ(sh("kill -9 1; kill -9 2000; echo $?").err.find("No such process") != std::string::npos, true);
}

TEST_P(ContainerTest, RightsAreFewAndDoNotGrow) {
  const Ended ended =
      sh("grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/self/status; mount -t tmpfs x /tmp; mknod /tmp/d b 8 0 && cat "
         "/tmp/d");
  EXPECT_NE(ended.out.find("CapEff:\t00000000a80405fb"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("NoNewPrivs:\t1"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("Seccomp:\t2"), std::string::npos) << ended.out;
  EXPECT_NE(ended.outcome.exit_code, 0);
  EXPECT_NE(ended.err.find("mount: permission denied"), std::string::npos) << ended.err;
}

TEST_P(ContainerTest, RightsCanBeAddedAndDropped) {
  plan_.options.drop_capabilities = {"all"};
  plan_.options.add_capabilities = {"CAP_CHOWN"};
  EXPECT_NE(sh("grep CapBnd /proc/self/status").out.find("0000000000000001"), std::string::npos);
}

TEST_P(ContainerTest, APrivilegedOneHasThemAll) {
  plan_.options.privileged = true;
  EXPECT_EQ(sh("mount -t tmpfs x /tmp && echo mounted").out, "mounted\n");
}

TEST_P(ContainerTest, ADeviceIsThereWhenItIsNamed) {
  EXPECT_NE(sh("cat /dev/kmsg-in").outcome.exit_code, 0);
  slot_.reset();
  plan_.options.devices = {{"/dev/zero", "/dev/nothing", "r"}};
  use_plan();
  EXPECT_EQ(sh("head -c 3 /dev/nothing | wc -c; echo x > /dev/nothing").out, "3\n");
}

TEST_P(ContainerTest, UlimitsAreSet) {
  plan_.options.ulimits = {{"nofile", 100, 200}};
  EXPECT_EQ(sh("ulimit -n; ulimit -Hn").out, "100\n200\n");
}

TEST_P(ContainerTest, TheNameOfTheHostCanBeChosen) {
  plan_.options.hostname = "somewhere";
  EXPECT_EQ(sh("hostname; cat /etc/hostname").out, "somewhere\nsomewhere\n");
}

TEST_P(ContainerTest, TheWorkingFolderIsTheImagesOrTheDefinitions) {
  plan_.image.workdir = "/home/ann";
  EXPECT_EQ(sh("pwd").out, "/home/ann\n");
  slot_.reset();
  setup_.workdir = "/made/when/missing";
  EXPECT_EQ(sh("pwd").out, "/made/when/missing\n");
}

TEST_P(ContainerTest, WithoutAnInitTheCommandIsTheFirstProcess) {
  plan_.options.init = false;
  EXPECT_EQ(sh("echo $$").out, "1\n");
  EXPECT_EQ(sh("exit 9").outcome.exit_code, 9);
  EXPECT_EQ(run(task({"nothing-here"})).outcome.ending, Ending::not_started);
}

TEST_P(ContainerTest, LayersLieAboveEachOther) {
  const auto upper = folder_ / "upper";
  std::filesystem::create_directories(upper / "etc");
  write(upper / "etc/motd", "from above\n");
  plan_.layers.insert(plan_.layers.begin(), upper);
  EXPECT_EQ(sh("cat /etc/motd; ls /etc/passwd").out, "from above\n/etc/passwd\n");
}

TEST_P(ContainerTest, NothingIsLeftOfManyShortOnes) {
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(sh("echo x > /y").outcome.success());
  const auto scratch = [&] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "containers")) {
      count += entry.path().parent_path().filename() == "scratch" || entry.path().parent_path().filename() == "state";
    }
    return count;
  };
  EXPECT_EQ(scratch(), 0U);
  slot_.reset();
  EXPECT_EQ(read_file("/proc/self/mounts").find(folder_.string()), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Runtimes, ContainerTest, ::testing::Values(ContainerRuntime::crun, ContainerRuntime::runc),
                         [](const auto& it) { return it.param == ContainerRuntime::crun ? "crun" : "runc"; });

}  // namespace
}  // namespace drover
