#include "base/text.h"
#include "run/docker/docker_fixture.h"

namespace drover {
namespace {

using DockerContainer = DockerTest;

TEST_F(DockerContainer, TheEnvironmentIsTheImagesTheSlotsThenTheTasks) {
  setup_.environment = {"BASE=base", "OTHER=slot", "PATH=/bin:/more"};
  plan_.edits.environment = {"EDITED=yes", "BASE=edit"};
  Task print = shell("echo $FROM_IMAGE $BASE $OTHER $NEW $TWICE $EDITED $PATH; env | grep -c ^BASE=");
  print.environment = {"BASE=attempt", "NEW=new", "TWICE=1", "TWICE=2"};
  EXPECT_EQ(run(print).out, "yes attempt slot new 2 yes /bin:/more\n1\n");
  EXPECT_EQ(run(shell("echo $BASE $NEW")).out, "base\n");
}

TEST_F(DockerContainer, TheEntryPointIsTheImagesUnlessAnotherIsGiven) {
  plan_.name = kGreeter;
  EXPECT_EQ(run(task({})).out, "hello from the image\n");
  EXPECT_EQ(run(task({"you"})).out, "hello you\n");
  close_slot();
  options().entrypoint = {"echo", "bye"};
  EXPECT_EQ(run(task({"you"})).out, "bye you\n");
  close_slot();
  options().entrypoint = std::vector<std::string>{};
  EXPECT_EQ(run(task({"echo", "plain"})).out, "plain\n");
}

TEST_F(DockerContainer, UserAndWorkingFolder) {
  EXPECT_EQ(run(shell("id -u; pwd")).out, "0\n/work\n");
  close_slot();
  options().user = "worker";
  setup_.workdir = "/tmp";
  EXPECT_EQ(run(shell("id -u; id -g; pwd")).out, "1234\n1234\n/tmp\n");
  close_slot();
  options().user = "77:88";
  EXPECT_EQ(run(shell("id -u; id -g")).out, "77\n88\n");
  close_slot();
  options().user = "stranger";
  const Outcome outcome = run(task({"true"})).outcome;
  EXPECT_EQ(outcome.ending, Ending::not_started);
  EXPECT_NE(outcome.reason.find("stranger"), std::string::npos) << outcome.reason;
}

TEST_F(DockerContainer, MountsAreSeenAndReadOnlyOnesStayAsTheyAre) {
  std::filesystem::create_directory(folder_ / "in");
  std::ofstream(folder_ / "in/file") << "from outside\n";
  std::filesystem::create_directory(folder_ / "out");
  options().mounts = {{folder_ / "in", "/in", true}, {folder_ / "out", "/out"}};
  const Ended ended = run(shell("cat /in/file; echo inside > /out/file; touch /in/x"));
  EXPECT_EQ(ended.out, "from outside\n");
  EXPECT_NE(ended.err.find("Read-only file system"), std::string::npos) << ended.err;
  EXPECT_EQ(ended.outcome.exit_code, 1);
  EXPECT_EQ(read_file(folder_ / "out/file"), "inside\n");
}

TEST_F(DockerContainer, AMountThatIsNotThereIsNamed) {
  options().mounts = {{folder_ / "missing", "/in"}};
  const Outcome outcome = run(task({"true"})).outcome;
  EXPECT_EQ(outcome.ending, Ending::not_started);
  EXPECT_NE(outcome.reason.find((folder_ / "missing").string()), std::string::npos) << outcome.reason;
}

TEST_F(DockerContainer, AVolumeOutlivesItsContainers) {
  options().mounts = {{"drover-test-volume", "/kept"}};
  EXPECT_TRUE(run(shell("echo kept > /kept/file")).outcome.success());
  EXPECT_EQ(run(shell("cat /kept/file")).out, "kept\n");
  close_slot();
  EXPECT_TRUE(daemon().ask_now(daemon().request("DELETE", "/volumes/drover-test-volume"), "remove").has_value());
}

TEST_F(DockerContainer, AReadOnlyRootCannotBeWrittenButATmpfsCan) {
  options().read_only = true;
  options().tmpfs = {{"/scratch", std::uint64_t{4} << 20}};
  const Ended ended = run(shell("touch /file; touch /scratch/file && echo written; df -k /scratch"));
  EXPECT_NE(ended.err.find("Read-only file system"), std::string::npos) << ended.err;
  EXPECT_NE(ended.out.find("written"), std::string::npos) << ended.err;
  EXPECT_NE(ended.out.find(" 4096 "), std::string::npos) << ended.out;
}

TEST_F(DockerContainer, EachItemHasAFreshRoot) {
  EXPECT_TRUE(run(shell("touch /left")).outcome.success());
  EXPECT_EQ(run(shell("ls /left")).outcome.exit_code, 1);
}

TEST_F(DockerContainer, LimitsAreSet) {
  setup_.limits = {.memory_bytes = std::uint64_t{64} << 20, .milli_cpus = 500, .processes = 20};
  options().shm_bytes = std::uint64_t{8} << 20;
  options().ulimits = {{"nofile", 100, 200}};
  const Ended ended =
      run(shell("df -k /dev/shm | grep -o ' 8192 ' | head -n 1; ulimit -Sn; ulimit -Hn;"
                "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null;"
                "cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max 2>/dev/null;"
                "cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null; :"));
  std::istringstream lines(ended.out);
  std::vector<std::string> seen;
  for (std::string line; std::getline(lines, line);) seen.push_back(line);
  ASSERT_EQ(seen.size(), 6U) << ended.out << ended.err;
  EXPECT_EQ(seen[0], " 8192 ");
  EXPECT_EQ(seen[1], "100");
  EXPECT_EQ(seen[2], "200");
  EXPECT_EQ(seen[3], "67108864");
  EXPECT_TRUE(seen[4] == "50000" || seen[4] == "50000 100000") << seen[4];
  EXPECT_EQ(seen[5], "21") << "and its init";
}

TEST_F(DockerContainer, AForkBombStaysInItsBox) {
  setup_.limits.processes = 15;
  const Ended ended = run(shell("i=0; while [ $i -lt 100 ]; do sleep 1 & i=$((i+1)); done; exit 0"));
  EXPECT_NE(ended.err.find("fork"), std::string::npos) << ended.err;
}

TEST_F(DockerContainer, ADiskLimitThatTheDaemonCannotKeepIsSaidClearly) {
  options().disk_bytes = std::uint64_t{1} << 30;
  const Outcome outcome = run(task({"true"})).outcome;
  EXPECT_EQ(outcome.ending, Ending::not_started);
  EXPECT_TRUE(outcome.reason.starts_with("this Docker daemon cannot limit an item's disk usage: ")) << outcome.reason;
}

TEST_F(DockerContainer, NetworkIsTheMachinesOrNone) {
  const std::string count = "wc -l < /proc/net/route";
  std::size_t routes = 0;
  std::ifstream lines("/proc/net/route");
  for (std::string line; std::getline(lines, line);) ++routes;
  EXPECT_EQ(run(shell(count)).out, std::to_string(routes) + "\n");
  close_slot();
  options().network = ContainerNetwork::none;
  EXPECT_EQ(run(shell(count)).out, "1\n") << "nothing but the heading";
}

TEST_F(DockerContainer, CapabilitiesAreFewAndCanBeChosen) {
  const std::string show = "grep -E '^(CapEff|NoNewPrivs)' /proc/self/status";
  const std::string usual = run(shell(show)).out;
  EXPECT_NE(usual.find("NoNewPrivs:\t1"), std::string::npos) << usual;
  EXPECT_NE(usual.find("CapEff:\t00000000a80405fb"), std::string::npos) << usual;
  close_slot();
  options().drop_capabilities = {"ALL"};
  options().add_capabilities = {"SYS_PTRACE"};
  const std::string chosen = run(shell(show)).out;
  EXPECT_NE(chosen.find("CapEff:\t0000000000080000"), std::string::npos) << chosen;
}

TEST_F(DockerContainer, APrivilegedOneHasAllThatTheMachineHasOrSaysWhatItLacks) {
  const std::string status = read_file("/proc/self/status");
  const std::string all = concat("CapBnd:\t", "000001ffffffffff");
  options().privileged = true;
  const Ended ended = run(shell("grep NoNewPrivs /proc/self/status; mount -t tmpfs tmpfs /tmp"));
  if (status.find(all) != std::string::npos) {
    EXPECT_EQ(ended.out, "NoNewPrivs:\t0\n");
    EXPECT_TRUE(ended.outcome.success());
  } else {
    // A daemon cannot give what it does not have itself.
    EXPECT_EQ(ended.outcome.ending, Ending::not_started);
    EXPECT_NE(ended.outcome.reason.find("unable to apply caps"), std::string::npos) << ended.outcome.reason;
  }
}

TEST_F(DockerContainer, ADeviceIsThereUnderItsName) {
  options().devices = {{"/dev/full", "/dev/packed", "rw"}};
  const Ended ended = run(shell("stat -c '%t:%T' /dev/packed; echo x > /dev/packed"));
  EXPECT_EQ(ended.out, "1:7\n");
  EXPECT_NE(ended.err.find("No space left on device"), std::string::npos) << ended.err;
}

TEST_F(DockerContainer, AHostnameIsItsOwn) {
  options().hostname = "box-one";
  EXPECT_EQ(run(task({"hostname"})).out, "box-one\n");
}

TEST_F(DockerContainer, AnInitReapsAndIsThereUnlessItIsNotWanted) {
  EXPECT_NE(run(shell("echo $$")).out, "1\n");
  close_slot();
  options().init = false;
  EXPECT_EQ(run(shell("echo $$")).out, "1\n");
}

TEST_F(DockerContainer, HooksAreRefusedByName) {
  plan_.edits.hooks = {{"createRuntime", "/bin/true", {}, {}}};
  EXPECT_THROW(slot(), std::runtime_error);
}

}  // namespace
}  // namespace drover
