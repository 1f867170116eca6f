#include <sys/stat.h>

#include "run/process_fixture.h"

namespace drover {
namespace {

class ProcessOutput : public ProcessTest {};

TEST_F(ProcessOutput, BothStreamsAreKeptApart) {
  const Ended ended = run(shell("echo out; echo error >&2"));
  EXPECT_EQ(ended.out, "out\n");
  EXPECT_EQ(ended.err, "error\n");
  EXPECT_EQ(ended.stdout_bytes, 4U);
  EXPECT_EQ(ended.stderr_bytes, 6U);
}

TEST_F(ProcessOutput, OneAttemptsOutputIsNotTheNexts) {
  run(shell("echo first; echo first >&2"));
  const Ended ended = run(task({"/bin/true"}));
  EXPECT_EQ(ended.out + ended.err, "");
}

std::string numbers_up_to(int last) {
  std::string all;
  for (int i = 1; i <= last; ++i) all += std::to_string(i) + "\n";
  return all;
}

TEST_F(ProcessOutput, WithoutALimitAllOfItIsPassedOn) {
  const Ended ended = run(shell("seq 1 400000; seq 1 200000 >&2"));
  EXPECT_EQ(ended.out, numbers_up_to(400'000));
  EXPECT_EQ(ended.err, numbers_up_to(200'000));
  EXPECT_EQ(ended.stdout_bytes, ended.out.size());
  EXPECT_EQ(ended.notes, "");
}

TEST_F(ProcessOutput, ALimitKeepsTheBeginningAndTheEnd) {
  setup_.limits.log_bytes = 100'000;
  const Ended ended = run(shell("seq 1 200000"));
  const std::string all = numbers_up_to(200'000);
  EXPECT_EQ(ended.stdout_bytes, all.size());
  ASSERT_LE(ended.out.size(), 100'000U);
  ASSERT_GE(ended.out.size(), 99'000U);
  EXPECT_EQ(ended.out.substr(0, 50'000), all.substr(0, 50'000));
  EXPECT_EQ(ended.out.substr(50'000), all.substr(all.size() - (ended.out.size() - 50'000)));
  EXPECT_EQ(ended.notes, "[drover: " + std::to_string(all.size() - ended.out.size()) +
                             " bytes were cut out here; the limit is 100000 bytes of output]\n");
}

TEST_F(ProcessOutput, TheEndOfALongOutputIsInOneAndInOrder) {
  setup_.limits.log_bytes = 4 << 20;
  const Ended ended =
      run(shell("seq 1 3000000; sleep 0.02; echo slow; seq 1 50000 >&2; sleep 0.02; seq 1 9000; sleep 0.02; echo end"));
  const std::string all = numbers_up_to(3'000'000) + "slow\n" + numbers_up_to(9'000) + "end\n";
  constexpr std::size_t kHead = 3 << 20;
  EXPECT_EQ(ended.stdout_bytes, all.size());
  EXPECT_EQ(ended.err, numbers_up_to(50'000));
  ASSERT_LE(ended.out.size() + ended.err.size(), 4U << 20);
  ASSERT_GE(ended.out.size() + ended.err.size(), 31U << 17);
  EXPECT_EQ(ended.out.substr(0, kHead), all.substr(0, kHead));
  EXPECT_TRUE(all.ends_with(std::string_view(ended.out).substr(kHead)));
  EXPECT_EQ(ended.notes, "[drover: " + std::to_string(all.size() - ended.out.size()) +
                             " bytes were cut out here; the limit is 4194304 bytes of output]\n");
}

TEST_F(ProcessOutput, WhatFitsIntoTheLimitIsWhole) {
  setup_.limits.log_bytes = 1'200'000;
  const Ended ended = run(shell("seq 1 100000; seq 1 100000 >&2"));
  EXPECT_EQ(ended.out, numbers_up_to(100'000));
  EXPECT_EQ(ended.err, numbers_up_to(100'000));
  EXPECT_EQ(ended.notes, "");
}

TEST_F(ProcessOutput, ManyShortWritesPastTheLimitKeepTheirOrder) {
  setup_.limits.log_bytes = 3000;
  const Ended ended = run(shell("i=0; while [ $i -lt 2000 ]; do echo $i; echo e$i >&2; i=$((i+1)); done"));
  // They share the room: when one is read late and at once, it may fill all of it.
  EXPECT_TRUE(ended.out.ends_with("1998\n1999\n") || ended.err.ends_with("e1998\ne1999\n")) << ended.out << ended.err;
  EXPECT_TRUE(ended.out.starts_with("0\n1\n")) << ended.out;
  EXPECT_LE(ended.out.size() + ended.err.size(), 3000U);
  EXPECT_NE(ended.notes, "");
}

TEST_F(ProcessOutput, ALongOutputDoesNotEnlargeTheNextItemsPeak) {
  const Ended before = run(task({"/bin/true"}));
  run(shell("seq 1 2000000"));
  setup_.limits.log_bytes = 10'000;
  const Ended after = run(task({"/bin/true"}));
  EXPECT_LT(after.usage.peak_memory_kib, before.usage.peak_memory_kib + 512);
}

TEST_F(ProcessOutput, WhatARunningItemPrintsIsHeardBeforeItEnds) {
  start(shell("echo first; while [ ! -e go ]; do sleep 0.01; done; echo second"));
  const auto printed = std::get<AttemptPrinted>(next_event_of_any_kind());
  EXPECT_EQ(printed.bytes, "first\n");
  EXPECT_GT(printed.time_ms, 1'600'000'000'000);
  std::ofstream(folder_ / "go") << "";
  EXPECT_EQ(next_end().out, "second\n");
}

TEST_F(ProcessOutput, AFullCopyGoesToTheFilesAskedFor) {
  Task print = shell("seq 1 200000; echo error >&2");
  print.stdout_path = folder_ / "out.txt";
  print.stderr_path = folder_ / "err.txt";
  std::ofstream(print.stdout_path) << std::string(5'000'000, 'o');
  const Ended ended = run(print);
  EXPECT_EQ(ended.outcome, Outcome{});
  const std::string copy = read_file(print.stdout_path);
  EXPECT_EQ(copy.size(), ended.stdout_bytes);
  EXPECT_EQ(copy.substr(0, 4), "1\n2\n");
  EXPECT_EQ(copy, ended.out);
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
  const Ended ended = run(print);
  EXPECT_EQ(ended.outcome.exit_code, 3);
  EXPECT_EQ(ended.outcome.reason, "exited with code 3; could not write all of /dev/full: No space left on device");
  EXPECT_EQ(ended.stdout_bytes, 1'288'895U);
}

TEST_F(ProcessOutput, AnItemThatReadsItsOwnOutputHarmsNobody) {
  const Ended ended = run(shell("echo mine; head -c 5 </dev/stdout >/dev/null & echo rest"));
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
  EXPECT_EQ(next_end().out, "from outside\ndone\n");
  EXPECT_EQ(run(shell("echo next")).out, "next\n");
}

}  // namespace
}  // namespace drover
