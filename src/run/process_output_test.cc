#include <sys/stat.h>

#include "run/process_fixture.h"

namespace drover {
namespace {

class ProcessOutput : public ProcessTest {};

TEST_F(ProcessOutput, BothStreamsAreKeptApart) {
  const AttemptEnded ended = run(shell("echo out; echo error >&2"));
  EXPECT_EQ(ended.stdout_tail, "out\n");
  EXPECT_EQ(ended.stderr_tail, "error\n");
  EXPECT_EQ(ended.stdout_bytes, 4U);
  EXPECT_EQ(ended.stderr_bytes, 6U);
}

TEST_F(ProcessOutput, OneAttemptsOutputIsNotTheNexts) {
  run(shell("echo first; echo first >&2"));
  const AttemptEnded ended = run(task({"/bin/true"}));
  EXPECT_EQ(ended.stdout_tail + ended.stderr_tail, "");
}

TEST_F(ProcessOutput, AMegabyteKeepsItsLast64KiB) {
  const AttemptEnded ended = run(shell("seq 1 200000 | head -c 1048577; seq 1 200000 | head -c 1000000 >&2"));
  EXPECT_EQ(ended.stdout_bytes, 1'048'577U);
  EXPECT_EQ(ended.stderr_bytes, 1'000'000U);

  std::string all;
  for (int i = 1; i <= 200'000; ++i) all += std::to_string(i) + "\n";
  EXPECT_EQ(ended.stdout_tail, all.substr(1'048'577 - kTailBytes, kTailBytes));
  EXPECT_EQ(ended.stderr_tail, all.substr(1'000'000 - kTailBytes, kTailBytes));
}

TEST_F(ProcessOutput, ExactlyTheTailIsKeptWhole) {
  const AttemptEnded ended = run(shell("head -c 65536 /dev/zero | tr '\\0' x"));
  EXPECT_EQ(ended.stdout_bytes, kTailBytes);
  EXPECT_EQ(ended.stdout_tail, std::string(kTailBytes, 'x'));
}

TEST_F(ProcessOutput, AFullCopyGoesToTheFilesAskedFor) {
  Task print = shell("seq 1 200000; echo error >&2");
  print.stdout_path = folder_ / "out.txt";
  print.stderr_path = folder_ / "err.txt";
  std::ofstream(print.stdout_path) << std::string(5'000'000, 'o');
  const AttemptEnded ended = run(print);
  EXPECT_EQ(ended.outcome, Outcome{});
  const std::string copy = read_file(print.stdout_path);
  EXPECT_EQ(copy.size(), ended.stdout_bytes);
  EXPECT_EQ(copy.substr(0, 4), "1\n2\n");
  EXPECT_EQ(copy.substr(copy.size() - kTailBytes), ended.stdout_tail);
  EXPECT_EQ(read_file(print.stderr_path), "error\n");
}

TEST_F(ProcessOutput, BothStreamsCanShareOneFile) {
  Task print = shell("echo out; echo error >&2");
  print.stdout_path = print.stderr_path = folder_ / "both.txt";
  run(print);
  EXPECT_EQ(read_file(print.stdout_path).size(), std::string("out\nerror\n").size());
}

TEST_F(ProcessOutput, AFileThatCannotBeCreatedIsNamed) {
  Task print = shell("touch ran");
  print.stderr_path = folder_ / "missing" / "err.txt";
  const Outcome outcome = run(print).outcome;
  EXPECT_EQ(outcome.ending, Ending::not_started);
  EXPECT_EQ(outcome.reason, "could not create " + print.stderr_path + ": No such file or directory");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ran"));
}

TEST_F(ProcessOutput, AFullDiskIsReportedAndTheItemGoesOn) {
  Task print = shell("seq 1 200000; exit 3");
  print.stdout_path = "/dev/full";
  const AttemptEnded ended = run(print);
  EXPECT_EQ(ended.outcome.exit_code, 3);
  EXPECT_EQ(ended.outcome.reason, "exited with code 3; could not write all of /dev/full: No space left on device");
  EXPECT_EQ(ended.stdout_bytes, 1'288'895U);
}

TEST_F(ProcessOutput, AnItemThatReadsItsOwnOutputHarmsNobody) {
  const AttemptEnded ended = run(shell("echo mine; head -c 5 </dev/stdout >/dev/null & echo rest"));
  EXPECT_TRUE(ended.outcome.success());
  EXPECT_LE(ended.stdout_bytes, 10U);
}

TEST_F(ProcessOutput, SomebodyElseHoldingThePipeDelaysNothing) {
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  start(shell("echo $$ >tmp; mv tmp ready; read x <fifo; echo done"));
  const std::vector<pid_t> item = numbers_of(wait_for_file("ready"));
  ASSERT_EQ(item.size(), 1U);
  std::ofstream stolen("/proc/" + std::to_string(item[0]) + "/fd/1");
  ASSERT_TRUE(stolen);
  stolen << "from outside\n" << std::flush;
  std::ofstream(folder_ / "fifo") << "go\n";
  EXPECT_EQ(next_end().stdout_tail, "from outside\ndone\n");
  EXPECT_EQ(run(shell("echo next")).stdout_tail, "next\n");
}

}  // namespace
}  // namespace drover
