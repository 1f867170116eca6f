#include <set>

#include "run/process_fixture.h"

namespace drover {
namespace {

class ProcessQueue : public ProcessTest {};

TEST_F(ProcessQueue, TasksRunOneAfterAnotherInOrder) {
  std::vector<Task> tasks;
  tasks.reserve(300);
  for (int i = 0; i < 300; ++i) tasks.push_back(shell("echo " + std::to_string(i)));
  for (const Task& each : tasks) slot().start(each);
  slot().send_more();
  for (int i = 0; i < 300; ++i) {
    const Ended ended = next_end();
    EXPECT_EQ(ended.token, tasks[static_cast<std::size_t>(i)].token);
    EXPECT_EQ(ended.out, std::to_string(i) + "\n");
  }
}

TEST_F(ProcessQueue, AnEndIsNotHeldBackBehindALongItem) {
  const Task first = task({"/bin/true"});
  const Task endless = shell("sleep 1000");
  slot().start(first);
  slot().start(endless);
  for (int i = 0; i < 4; ++i) slot().start(task({"/bin/true"}));
  slot().send_more();
  EXPECT_EQ(next_end().token, first.token);
}

TEST_F(ProcessQueue, RecallBringsBackWhatHasNotStartedTheLastFirst) {
  const Task running = shell("touch running; while [ ! -e go ]; do sleep 0.01; done");
  std::vector<Token> queued;
  slot().start(running);
  for (int i = 0; i < 4; ++i) {
    const Task each = shell("touch started");
    queued.push_back(each.token);
    slot().start(each);
  }
  slot().send_more();
  wait_for_file("running");
  slot().recall();
  slot().send_more();
  for (; !queued.empty(); queued.pop_back()) {
    EXPECT_EQ(std::get<TaskReturned>(next_event()).token, queued.back());
  }

  std::ofstream(folder_ / "go") << "";
  const Ended ended = next_end();
  EXPECT_EQ(ended.token, running.token);
  EXPECT_FALSE(ended.was_stopped);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "started"));
  EXPECT_TRUE(run(task({"/bin/true"})).outcome.success());
}

TEST_F(ProcessQueue, WhatIsReturnedBetweenTwoLinesIsNotTakenForOutput) {
  // Nobody reads: the socket is full, and lines gather in the helper's last frame of output.
  constexpr int kRounds = 20;
  constexpr std::size_t kMoreThanTheSocketHolds = 230'000;
  const Task running =
      shell("head -c 230000 /dev/zero; for i in $(seq 20); do touch tick.$i; echo line; sleep 0.001; done; touch done");
  std::vector<Token> returned;
  start(running);
  for (int round = 1; round <= kRounds; ++round) {
    wait_for_file("tick." + std::to_string(round));
    const Task recalled = task({"/bin/true"});
    returned.push_back(recalled.token);
    slot().start(recalled);
    slot().recall();
    slot().send_more();
  }
  wait_for_file("done");
  for (const Token& token : returned) EXPECT_EQ(std::get<TaskReturned>(next_event()).token, token);
  const Ended ended = next_end();
  EXPECT_EQ(ended.token, running.token);
  std::string expected(kMoreThanTheSocketHolds, '\0');
  for (int round = 1; round <= kRounds; ++round) expected += "line\n";
  EXPECT_TRUE(ended.out == expected) << ended.out.size() << " bytes, not " << expected.size();
}

TEST_F(ProcessQueue, ManyLargeTasksAndLargeOutputsPassEachOther) {
  // More than the socket holds in either direction, with nobody reading meanwhile.
  const std::string large(100'000, 'x');
  for (int i = 0; i < 20; ++i) {
    Task print = shell("echo $1; echo $2 >&2");
    print.arguments.insert(print.arguments.end(), {"sh", large, large});
    slot().start(print);
    slot().send_more();
  }
  for (int i = 0; i < 20; ++i) {
    const Ended ended = next_end();
    EXPECT_EQ(ended.stdout_bytes, 100'001U);
    EXPECT_EQ(ended.out.size(), 100'001U);
    EXPECT_EQ(ended.err, ended.out);
  }
}

TEST_F(ProcessQueue, SlotsRunSideBySide) {
  std::vector<std::unique_ptr<Slot>> slots;
  slots.reserve(8);
  for (int i = 0; i < 8; ++i) slots.push_back(runner_.open_slot(setup_).value());
  // Each item waits for all others to have started.
  const std::string script = "touch here.$1; while [ $(ls here.* | wc -l) -lt 8 ]; do sleep 0.01; done";
  for (int i = 0; i < 8; ++i) {
    Task meet = shell(script);
    meet.arguments.insert(meet.arguments.end(), {"sh", std::to_string(i)});
    slots[static_cast<std::size_t>(i)]->start(meet);
    slots[static_cast<std::size_t>(i)]->send_more();
  }
  for (std::unique_ptr<Slot>& each : slots) {
    slot_ = std::move(each);
    EXPECT_TRUE(next_end().outcome.success());
  }
}

}  // namespace
}  // namespace drover
