#include <fcntl.h>
#include <sys/stat.h>

#include "run/process_fixture.h"

namespace drover {
namespace {

class ProcessOutcome : public ProcessTest {
 protected:
  std::string write_file(const std::string& name, const std::string& text, mode_t mode) {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
};

TEST_F(ProcessOutcome, AnExitCodeIsReported) {
  const AttemptEnded fine = run(task({"/bin/true"}));
  EXPECT_EQ(fine.outcome, Outcome{});
  EXPECT_FALSE(fine.was_stopped);
  EXPECT_EQ(run(shell("exit 3")).outcome, (Outcome{.exit_code = 3}));
}

TEST_F(ProcessOutcome, ASignalIsReported) {
  EXPECT_EQ(run(shell("kill -SEGV $$")).outcome, (Outcome{.ending = Ending::signalled, .signal = SIGSEGV}));
  EXPECT_EQ(run(shell("kill -KILL $$")).outcome, (Outcome{.ending = Ending::signalled, .signal = SIGKILL}));
}

TEST_F(ProcessOutcome, AMissingProgramIsNotStarted) {
  const Outcome outcome = run(task({"/no/such/program"})).outcome;
  EXPECT_EQ(outcome.ending, Ending::not_started);
  EXPECT_EQ(outcome.reason, "could not start /no/such/program: No such file or directory");
}

TEST_F(ProcessOutcome, AnExitCodeOf127IsNotAMissingProgram) {
  EXPECT_EQ(run(shell("exit 127")).outcome, (Outcome{.exit_code = 127}));
}

TEST_F(ProcessOutcome, AFileThatIsNotExecutableIsNotStarted) {
  const std::string path = write_file("plain", "#!/bin/sh\n", 0644);
  const Outcome outcome = run(task({path})).outcome;
  EXPECT_EQ(outcome.ending, Ending::not_started);
  EXPECT_EQ(outcome.reason, "could not start " + path + ": Permission denied");
}

TEST_F(ProcessOutcome, AMissingInterpreterIsNamedAsSuch) {
  const Outcome outcome = run(task({write_file("script", "#!/no/such/interpreter\n", 0755)})).outcome;
  EXPECT_EQ(outcome.ending, Ending::not_started);
  EXPECT_NE(outcome.reason.find("interpreter"), std::string::npos) << outcome.reason;
}

TEST_F(ProcessOutcome, ASlotGoesOnAfterWhatCouldNotStart) {
  run(shell("echo left over; echo left over >&2"));
  const Ended ended = run(task({"/no/such/program"}));
  EXPECT_EQ(ended.out + ended.err, "");
  EXPECT_EQ(ended.stdout_bytes + ended.stderr_bytes, 0U);
  EXPECT_TRUE(run(task({"/bin/true"})).outcome.success());
}

TEST_F(ProcessOutcome, ABareNameIsLookedUpInThePathOfTheAttempt) {
  std::filesystem::create_directory(folder_ / "first");
  std::filesystem::create_directory(folder_ / "second");
  write_file("first/greet", "not executable", 0644);
  write_file("second/greet", "#!/bin/sh\necho hello $1\n", 0755);
  Task greet = task({"greet", "you"});
  greet.environment = {"PATH=/no/such/folder:" + (folder_ / "first").string() + ":" + (folder_ / "second").string()};
  EXPECT_EQ(run(greet).out, "hello you\n");

  greet.environment = {"PATH=/no/such/folder:" + (folder_ / "first").string()};
  EXPECT_EQ(run(greet).outcome.reason, "could not start greet: Permission denied");
  greet.environment = {"PATH=/no/such/folder:/etc/hostname"};
  EXPECT_EQ(run(greet).outcome.reason, "could not start greet: not found in PATH");
  EXPECT_TRUE(run(task({"true"})).outcome.success());
}

TEST_F(ProcessOutcome, AScriptWithoutAFirstLineRunsInTheShell) {
  write_file("script", "echo $0 $1 $2\n", 0755);
  EXPECT_EQ(run(task({"./script", "a", "b"})).out, "./script a b\n");
}

TEST_F(ProcessOutcome, TheProgramCanHaveAnotherNameThanItsFirstArgument) {
  Task named = task({"a name", "-c", "echo $0"});
  named.program = "/bin/sh";
  EXPECT_EQ(run(named).out, "a name\n");
}

TEST_F(ProcessOutcome, AMissingWorkingDirectoryIsNamed) {
  setup_.workdir = folder_ / "missing";
  const Outcome outcome = run(task({"/bin/true"})).outcome;
  EXPECT_EQ(outcome.ending, Ending::not_started);
  EXPECT_EQ(outcome.reason, "could not enter the working directory " + setup_.workdir + ": No such file or directory");

  std::filesystem::create_directory(setup_.workdir);
  EXPECT_EQ(run(shell("pwd")).out, setup_.workdir + "\n");
}

TEST_F(ProcessOutcome, TheAttemptsEnvironmentIsLaidOverTheSlots) {
  setup_.environment.push_back("OTHER=slot");
  Task print = shell("echo $BASE $OTHER $NEW $TWICE; env | grep -c ^BASE=");
  print.environment = {"BASE=attempt", "NEW=new", "TWICE=1", "TWICE=2"};
  EXPECT_EQ(run(print).out, "attempt slot new 2\n1\n");
  EXPECT_EQ(run(shell("echo $BASE $NEW")).out, "base\n");
}

TEST_F(ProcessOutcome, NothingOfOurOwnEnvironmentReachesAnItem) {
  ::setenv("DROVER_TEST_SECRET", "secret", 1);
  EXPECT_EQ(run(task({"env"})).out, "PATH=/usr/local/bin:/usr/bin:/bin\nBASE=base\n");
}

TEST_F(ProcessOutcome, LargeArgumentsArriveWhole) {
  const std::string large(100'000, 'x');
  Task count = shell("echo ${#1} ${#2} ${#3} ${#4} ${#LARGE}");
  count.arguments.insert(count.arguments.end(), {"sh", large, large, large, large});
  count.environment = {"LARGE=" + large};
  EXPECT_EQ(run(count).out, "100000 100000 100000 100000 100000\n");
}

TEST_F(ProcessOutcome, AnArgumentThatTheKernelRefusesIsNotStarted) {
  const Outcome outcome = run(task({"/bin/echo", std::string(std::size_t{4} << 20, 'x')})).outcome;
  EXPECT_EQ(outcome.ending, Ending::not_started);
  EXPECT_EQ(outcome.reason, "could not start /bin/echo: Argument list too long");
}

TEST_F(ProcessOutcome, ANulByteIsRefusedAndNotCutOff) {
  const Outcome outcome = run(task({"/bin/echo", std::string("a\0b", 3)})).outcome;
  EXPECT_EQ(outcome.ending, Ending::not_started);
  EXPECT_NE(outcome.reason.find("NUL"), std::string::npos) << outcome.reason;
}

TEST_F(ProcessOutcome, UsageIsMeasured) {
  const auto before_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  const Usage usage = run(shell("sleep 0.05; i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done")).usage;
  EXPECT_GE(usage.started_ms, before_ms);
  EXPECT_LE(usage.started_ms, before_ms + 10'000);
  EXPECT_GE(usage.wall_us, 50'000);
  EXPECT_GT(usage.user_us + usage.system_us, 2'000);
  EXPECT_LT(usage.user_us + usage.system_us, usage.wall_us);
  EXPECT_GT(usage.peak_memory_kib, 100);
}

TEST_F(ProcessOutcome, PeakMemoryIsTheItemsAndNotOurs) {
  std::vector<char> ballast(std::size_t{300} << 20, 'x');
  EXPECT_EQ(ballast[ballast.size() / 2], 'x');
  EXPECT_LT(run(task({"/bin/true"})).usage.peak_memory_kib, 8 << 10);

  const std::string command = "x=$(head -c 30000000 /dev/zero | tr '\\0' x); :";
  EXPECT_GT(run(shell(command)).usage.peak_memory_kib, 28 << 10);
  EXPECT_LT(run(task({"/bin/true"})).usage.peak_memory_kib, 8 << 10);
}

TEST_F(ProcessOutcome, PeakMemoryIsNotThatOfAnEarlierLargeTask) {
  run(task({"/bin/true", std::string(std::size_t{20} << 20, 'x')}));
  EXPECT_LT(run(task({"/bin/true"})).usage.peak_memory_kib, 8 << 10);
}

}  // namespace
}  // namespace drover
