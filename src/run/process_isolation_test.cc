#include <fcntl.h>

#include "run/process_fixture.h"

namespace drover {
namespace {

class ProcessIsolation : public ProcessTest {};

TEST_F(ProcessIsolation, AnItemSeesThreeDescriptorsOnly) {
  const int leaky = ::open("/dev/null", O_RDONLY);  // not closed on exec, on purpose
  const Descriptor hold(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  setup_.hold_descriptor = hold.get();
  // 3 is the folder that ls itself reads.
  EXPECT_EQ(run(task({"ls", "-m", "/proc/self/fd"})).out, "0, 1, 2, 3\n");
  ::close(leaky);
}

TEST_F(ProcessIsolation, StandardInputIsEmpty) {
  EXPECT_EQ(run(shell("readlink /proc/self/fd/0; cat")).out, "/dev/null\n");
}

TEST_F(ProcessIsolation, AnItemLeadsAProcessGroupOfItsOwnOutsideOurSession) {
  // Of /proc/PID/stat: pid, process group, session.
  const std::string text = run(shell("read pid name state parent group session rest </proc/$$/stat; "
                                     "echo $pid $group $session"))
                               .out;
  const std::vector<pid_t> numbers = numbers_of(text);
  ASSERT_EQ(numbers.size(), 3U);
  EXPECT_EQ(numbers[0], numbers[1]);
  EXPECT_NE(numbers[2], ::getsid(0));
}

TEST_F(ProcessIsolation, SignalsAreAtTheirDefaults) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  sigset_t blocked;
  sigset_t mask_before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &mask_before);
  const std::string status = run(task({"cat", "/proc/self/status"})).out;
  for (const char* set : {"SigBlk", "SigIgn", "SigCgt"}) {
    EXPECT_NE(status.find(set + std::string(":\t0000000000000000\n")), std::string::npos) << status;
  }
  ::pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  ::signal(SIGPIPE, before);
}

TEST_F(ProcessIsolation, TheHelperHasAReadableNameAndIsSmall) {
  const std::string text = run(shell("tr '\\0' ' ' </proc/$PPID/cmdline; cat /proc/$PPID/comm; "
                                     "grep VmHWM /proc/$PPID/status"))
                               .out;
  EXPECT_TRUE(text.starts_with("drover-slot drover-slot\n")) << text;
  EXPECT_LT(std::stoi(text.substr(text.find("VmHWM:") + 6)), 2'000) << text;
}

TEST_F(ProcessIsolation, TheHelperLeaksNoDescriptors) {
  const std::string count = "ls /proc/$PPID/fd | wc -l";
  const std::string before = run(shell(count)).out;
  for (int i = 0; i < 20; ++i) {
    Task print = shell("echo x");
    print.stdout_path = folder_ / "out.txt";
    run(print);
    run(task({"/no/such/program"}));
    print.stderr_path = folder_ / "missing" / "err.txt";
    run(print);
  }
  EXPECT_EQ(run(shell(count)).out, before);
}

TEST_F(ProcessIsolation, ASlotThatTurnsToOtherItemsKeepsNothingOfTheFormer) {
  const std::string script = "echo $PPID; pwd; echo $BASE $MORE; nice";
  setup_.environment.push_back("MORE=more");
  setup_.limits.nice = 3;
  setup_.limits.memory_bytes = std::uint64_t{256} << 20;
  const std::string usual_nice = std::to_string(::nice(0));
  const std::string first = run(shell(script)).out;
  const std::string helper = first.substr(0, first.find('\n'));
  EXPECT_EQ(first, helper + "\n" + folder_.string() + "\nbase more\n" + std::to_string(::nice(0) + 3) + "\n");

  SlotSetup other;
  other.environment = {"PATH=/usr/bin:/bin", "BASE=other"};
  other.limits.memory_bytes = setup_.limits.memory_bytes;
  ASSERT_TRUE(slot().turn_to(other));
  const std::string here = std::filesystem::current_path();
  EXPECT_EQ(run(shell(script)).out, helper + "\n" + here + "\nother\n" + usual_nice + "\n");

  other.workdir = folder_ / "missing";
  ASSERT_TRUE(slot().turn_to(other));
  EXPECT_EQ(run(shell(script)).outcome.ending, Ending::not_started);
  ASSERT_TRUE(slot().turn_to(setup_));
  EXPECT_EQ(run(shell(script)).out, first);
}

TEST_F(ProcessIsolation, ASlotDoesNotTurnToItemsWithOtherLimits) {
  EXPECT_EQ(run(shell("echo one")).out, "one\n");
  for (const ItemLimits& limits : {ItemLimits{.memory_bytes = std::uint64_t{1} << 30}, ItemLimits{.milli_cpus = 500},
                                   ItemLimits{.processes = 100}}) {
    SlotSetup other = setup_;
    other.limits = limits;
    EXPECT_FALSE(slot().turn_to(other));
  }
  EXPECT_EQ(run(shell("echo two")).out, "two\n");
}

TEST_F(ProcessIsolation, OpeningAndClosingSlotsLeaksNoDescriptors) {
  const auto count = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator{});
  };
  slot();
  slot_.reset();
  const auto before = count();
  for (int i = 0; i < 10; ++i) {
    slot();
    slot_.reset();
  }
  EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace drover
