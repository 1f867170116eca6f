#include <gtest/gtest.h>

#include "core/test_world.h"

namespace drover {
namespace {

class OnStream : public testing::Test {
 protected:
  OnStream() { set({.name = "photos"}); }

  void set(StreamSpec spec) { world.ask(SetStream{std::move(spec), std::nullopt}); }

  void send(std::uint64_t count, const std::string& group = {}) {
    for (std::uint64_t i = 0; i < count; ++i) {
      NewMessage message{.content = std::make_shared<const std::string>("x"), .bytes = 1};
      message.group = group;
      if (!group.empty()) message.deduplication = std::to_string(++sent);
      world.ask(SendMessages{group.empty() ? "photos" : "photos.fifo", {message}});
    }
  }

  StreamView view(const std::string& name = "photos") {
    const Effect effect = world.ask(AskStreams{.stream = name});
    return std::get<StreamsNow>(effect).streams.at(0);
  }

  static SubmitJob on(std::string stream, bool until_empty = false) {
    SubmitJob command;
    command.ask.milli_cpus = 1000;
    command.stream = std::move(stream);
    command.until_empty = until_empty;
    return command;
  }

  std::string refusal(const SubmitJob& command) {
    const Effect effect = world.ask(command);
    const auto* refused = std::get_if<Refused>(&effect);
    return refused == nullptr ? "" : refused->error.message;
  }

  TestWorld world;
  std::uint64_t sent = 0;
};

TEST_F(OnStream, ItsItemsAreMessagesAndSuccessDeletesThem) {
  const WorkerId worker = world.worker("w");
  const JobId job = world.submit(on("photos"));
  EXPECT_EQ(world.why(job).code, WhyCode::no_message);
  EXPECT_TRUE(world.poll(worker, 3, 60'000).empty());
  send(1);
  ASSERT_EQ(world.given_meanwhile().size(), 1U) << "who waits is given a message as it comes";
  const Lease first = world.given_meanwhile()[0];
  EXPECT_EQ(first.first, ItemIndex{0});
  EXPECT_EQ(view().in_flight, 1U);
  world.end(worker, first);
  EXPECT_EQ(view().in_flight + view().visible, 0U);
  EXPECT_EQ(world.job(job).succeeded, 1U);
  EXPECT_EQ(world.state(job), JobState::running) << "others may come";

  send(10'000);
  world.inspects = false;  // it looks at all of them
  std::uint64_t done = 0;
  for (auto leases = world.poll(worker, 8); !leases.empty(); leases = world.poll(worker, 8)) {
    for (const Lease& lease : leases) {
      world.end(worker, lease);
      done += lease.count;
    }
  }
  EXPECT_EQ(done, 10'000U);
  world.inspects = true;
  EXPECT_EQ(world.job(job).total, 10'001U);
  world.ask(CancelJob{job, "enough"});
  EXPECT_EQ(world.state(job), JobState::cancelled);
}

TEST_F(OnStream, AFailureReturnsTheMessageWhenItsTimeIsOverAndAtLastAsADeadLetter) {
  set({.name = "dead"});
  set({.name = "photos", .visibility_ms = 10'000, .max_receives = 2, .dead_letters = "dead"});
  const WorkerId worker = world.worker("w");
  const JobId job = world.submit(on("photos", false));
  send(1);
  world.end(worker, world.poll(worker, 1).at(0), TestWorld::failure());
  EXPECT_EQ(world.job(job).failed, 1U);
  EXPECT_TRUE(world.poll(worker, 1).empty()) << "its time is not over";
  world.pass(10'000);
  const auto again = world.poll(worker, 1);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].first, ItemIndex{1}) << "another receive is another item";
  world.pass(60'000);
  world.end(worker, again[0], TestWorld::failure());
  world.tick_while_due();
  EXPECT_EQ(view("dead").visible, 1U);
  EXPECT_EQ(view().visible + view().in_flight, 0U);
}

TEST_F(OnStream, RetriesAndLossesKeepTheMessage) {
  const WorkerId worker = world.worker("w");
  SubmitJob command = on("photos", true);
  command.policy.max_tries = 2;
  const JobId job = world.submit(command);
  EXPECT_EQ(world.state(job), JobState::succeeded) << "there was nothing to do";
  send(1);
  const JobId next = world.submit(command);
  const Lease lost = world.poll(worker, 1).at(0);
  world.run(worker, token(lost));
  world.ask(Fence{"w"});
  const WorkerId other = world.worker("other");
  world.restart();
  const Lease failed = world.poll(other, 1).at(0);
  EXPECT_EQ(failed.first, ItemIndex{0});
  EXPECT_EQ(failed.attempt_of(0), AttemptNumber{2});
  world.end(other, failed, TestWorld::failure());
  EXPECT_EQ(view().in_flight, 1U) << "it is still the item's";
  const Lease last = world.poll(other, 1).at(0);
  EXPECT_EQ(last.first, ItemIndex{0});
  world.end(other, last);
  EXPECT_EQ(world.state(next), JobState::succeeded) << "the stream is empty";
}

TEST_F(OnStream, WhatWasNotStartedIsAsIfNobodyHadReceivedIt) {
  set({.name = "dead"});
  set({.name = "photos", .max_receives = 1, .dead_letters = "dead"});
  send(5);
  const WorkerId worker = world.worker("w");
  const JobId job = world.submit(on("photos"));
  const Lease lease = world.poll(worker, 4).at(0);
  ASSERT_EQ(lease.count, 4U);
  world.run(worker, token(lease, 0));
  world.ask(CancelJob{job, "enough"});
  Outcome stopped;
  stopped.ending = Ending::stopped;
  world.end(worker, token(lease, 0), stopped);
  Report back{.worker = worker, .incarnation = 1};
  for (const std::uint64_t i : {1U, 2U, 3U}) back.returned.push_back(token(lease, i));
  world.ask(back);
  world.tick_while_due();
  EXPECT_EQ(world.state(job), JobState::cancelled);
  EXPECT_EQ(view().visible, 5U);
  EXPECT_EQ(view("dead").visible, 0U);
  const JobId next = world.submit(on("photos", true));
  world.end(worker, world.poll(worker, 8).at(0));
  EXPECT_EQ(world.state(next), JobState::succeeded);
  EXPECT_EQ(world.job(next).total, 5U);
}

TEST_F(OnStream, MessagesOfAGroupRunOneAtATimeInOrder) {
  set({.name = "photos.fifo", .fifo = true});
  send(2, "a");
  send(2, "b");
  const WorkerId worker = world.worker("w");
  const JobId job = world.submit(on("photos.fifo", true));
  for (int round = 0; round < 2; ++round) {
    const auto leases = world.poll(worker, 8);
    ASSERT_EQ(leases.size(), 1U);
    EXPECT_EQ(leases[0].count, 2U) << "one of each group";
    EXPECT_TRUE(world.poll(worker, 8).empty());
    world.end(worker, leases[0]);
  }
  EXPECT_EQ(world.state(job), JobState::succeeded);
}

TEST_F(OnStream, TwoJobsShareAStreamAndOthersReceiveFromItToo) {
  send(3);
  const WorkerId worker = world.worker("w");
  const JobId first = world.submit(on("photos", true));
  const JobId second = world.submit(on("photos", true));
  const auto leases = world.poll(worker, 2);
  ASSERT_EQ(leases.size(), 1U);
  const Effect effect = world.ask(ReceiveMessages{.stream = "photos"});
  const auto& received = std::get<MessagesReceived>(effect);
  ASSERT_EQ(received.messages.size(), 1U);
  EXPECT_TRUE(world.poll(worker, 2).empty());
  world.end(worker, leases[0]);
  EXPECT_EQ(world.state(first), JobState::running) << "somebody holds one, which may come back";
  world.ask(DeleteMessages{"photos", {{received.stream, received.messages[0].message, received.messages[0].receive}}});
  EXPECT_EQ(world.state(first), JobState::succeeded);
  EXPECT_EQ(world.state(second), JobState::succeeded);
}

TEST_F(OnStream, AnItemOutlivesThePurgeOfItsMessageAndTheStream) {
  send(2);
  const WorkerId worker = world.worker("w");
  const JobId job = world.submit(on("photos"));
  const Lease lease = world.poll(worker, 2).at(0);
  world.ask(PurgeStream{"photos"});
  world.end(worker, token(lease, 0));
  world.ask(DropStream{"photos"});
  world.end(worker, token(lease, 1), TestWorld::failure());
  EXPECT_EQ(world.why(job).sentence, "stream 'photos' was deleted");
  world.restart();
  set({.name = "photos"});
  send(1);
  EXPECT_EQ(world.poll(worker, 1).size(), 1U) << "it goes on when there is such a stream again";
}

TEST_F(OnStream, AFailedTryCountsAsAReceiveEvenIfTheJobIsCancelledBeforeTheNext) {
  set({.name = "dead"});
  set({.name = "photos", .max_receives = 1, .dead_letters = "dead"});
  send(1);
  const WorkerId worker = world.worker("w");
  SubmitJob command = on("photos");
  command.policy.max_tries = 3;
  command.policy.retry_delay_ms = 60'000;
  const JobId job = world.submit(command);
  world.end(worker, world.poll(worker, 1).at(0), TestWorld::failure());
  world.ask(CancelJob{job, "enough"});
  world.pass(60'000);
  world.tick_while_due();
  EXPECT_EQ(view("dead").visible, 1U);
  EXPECT_EQ(view().visible + view().in_flight, 0U);
}

TEST_F(OnStream, NoReceiptActsOnAMessageThatAnItemHolds) {
  for (const bool fifo : {false, true}) {
    const std::string name = fifo ? "photos.fifo" : "photos";
    if (fifo) set({.name = name, .fifo = true});
    send(1, fifo ? "a" : "");
    const WorkerId worker = world.worker("w");
    const JobId job = world.submit(on(name));
    const Lease lease = world.poll(worker, 1).at(0);
    const auto& messages = world.core.durable().messages.at(view(name).stream.id);
    const Receipt guessed{view(name).stream.id, messages.open.begin()->first, 1};
    const Effect set = world.ask(SetVisibility{name, {{guessed, 0}}});
    EXPECT_EQ(std::get<VisibilitySet>(set).outcomes, std::vector{ReceiptOutcome::expired});
    world.ask(DeleteMessages{name, {guessed}});
    EXPECT_EQ(view(name).in_flight, 1U);
    world.end(worker, lease);
    EXPECT_EQ(view(name).in_flight, 0U);
    world.ask(CancelJob{job, "enough"});
  }
}

TEST_F(OnStream, WhatIsDeadByNewSettingsIsMovedInSmallStepsAndNotRun) {
  constexpr std::uint64_t kMessages = 500;
  send(kMessages);
  const auto receive_all = [&] {
    for (std::uint64_t got = 0; got < kMessages;) {
      const Effect effect = world.ask(ReceiveMessages{.stream = "photos", .most = 10, .visibility_ms = 0});
      got += std::get<MessagesReceived>(effect).messages.size();
      world.pass(1);
    }
  };
  receive_all();
  set({.name = "dead"});
  std::vector<JobId> jobs(20);
  for (JobId& job : jobs) job = world.submit(on("photos", true));
  set({.name = "photos", .max_receives = 1, .dead_letters = "dead"});
  std::uint64_t most = 0;
  for (std::uint64_t moved = 0; moved < kMessages;) {
    world.ask(Tick{});
    const std::uint64_t before = std::exchange(moved, view("dead").visible);
    most = std::max(most, moved - before);
  }
  EXPECT_LE(most, 50U) << "with one command";
  for (const JobId job : jobs) EXPECT_EQ(world.state(job), JobState::succeeded) << "without an item";
}

TEST_F(OnStream, AJobHearsAfterARestartThatItsStreamIsEmpty) {
  std::vector<JobId> jobs;
  jobs.reserve(100);
  const auto name = [](int i) { return "s" + std::to_string(i); };
  for (int i = 0; i < 100; ++i) {
    set({.name = name(i), .retention_ms = 60'000});
    NewMessage message{.content = std::make_shared<const std::string>("x"), .bytes = 1};
    world.ask(SendMessages{name(i), {message}});
    jobs.push_back(world.submit(on(name(i), true)));
  }
  world.pass(62'000);  // all expire with one command, and not all jobs hear of it
  world.restart();
  world.tick_while_due();
  for (const JobId job : jobs) EXPECT_EQ(world.state(job), JobState::succeeded);
}

TEST_F(OnStream, WhatCannotBeIsRefused) {
  EXPECT_EQ(refusal(on("nothing")), "stream 'nothing' not found");
  SubmitJob command = on("photos");
  command.sequential = true;
  EXPECT_NE(refusal(command), "");
  const JobId job = world.submit(on("photos"));
  SubmitJob follower;
  follower.after = {{job, true}};
  EXPECT_NE(refusal(follower), "");
  world.ask(CancelJob{job, "enough"});
  EXPECT_TRUE(std::holds_alternative<Refused>(world.ask(ReopenJob{.job = job, .epoch = 0})));
}

}  // namespace
}  // namespace drover
