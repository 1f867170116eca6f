#include "core/streams/streams.h"

#include <gtest/gtest.h>

#include "core/test_world.h"

namespace drover {
namespace {

class StreamsTest : public testing::Test {
 protected:
  void create(StreamSpec spec) {
    ASSERT_TRUE(std::holds_alternative<StreamSet>(world_.ask(SetStream{std::move(spec), std::nullopt})));
  }
  std::vector<MessagesSent::One> send(const std::string& stream, std::vector<NewMessage> messages) {
    for (NewMessage& it : messages) {
      it.id.bytes[0] = static_cast<std::uint8_t>(++sent_);
      it.content = std::make_shared<const std::string>("content");
    }
    return std::get<MessagesSent>(world_.ask(SendMessages{stream, std::move(messages)})).messages;
  }
  std::vector<MessagesSent::One> send(const std::string& stream, std::size_t count = 1) {
    return send(stream, std::vector<NewMessage>(count));
  }
  NewMessage in_group(const std::string& group) {
    return {.group = group, .deduplication = "id" + std::to_string(++ids_)};
  }
  std::vector<Receipt> receive(ReceiveMessages command) {
    const Effect effect = world_.ask(command);
    const auto* received = std::get_if<MessagesReceived>(&effect);
    std::vector<Receipt> out;
    if (received == nullptr) return out;
    for (const auto& it : received->messages) out.push_back({received->stream, it.message, it.receive});
    return out;
  }
  std::vector<Receipt> receive(const std::string& stream, std::uint64_t most = 10) {
    return receive(ReceiveMessages{.stream = stream, .most = most});
  }
  ReceiptOutcome remove(const std::string& stream, const Receipt& receipt) {
    return std::get<MessagesDeleted>(world_.ask(DeleteMessages{stream, {receipt}})).outcomes.at(0);
  }
  ReceiptOutcome hold(const std::string& stream, const Receipt& receipt, std::int64_t ms) {
    return std::get<VisibilitySet>(world_.ask(SetVisibility{stream, {{receipt, ms}}})).outcomes.at(0);
  }
  StreamView view(const std::string& stream) {
    return std::get<StreamsNow>(world_.ask(AskStreams{stream})).streams.at(0);
  }
  /// What a receive that waits was given by the last command.
  std::size_t given_meanwhile() const {
    std::size_t count = 0;
    for (const Answer& answer : world_.answers) {
      if (const auto* it = std::get_if<MessagesReceived>(&answer.effect)) count += it->messages.size();
    }
    return count;
  }

  TestWorld world_;
  std::uint64_t sent_ = 0;
  std::uint64_t ids_ = 0;
};

TEST_F(StreamsTest, AMessageIsHiddenWhileItIsHeldAndGoneWhenDeleted) {
  create({.name = "s"});
  send("s", 3);
  const auto held = receive("s", 2);
  ASSERT_EQ(held.size(), 2U);
  EXPECT_EQ(view("s").visible, 1U);
  EXPECT_EQ(view("s").in_flight, 2U);
  EXPECT_EQ(receive("s").size(), 1U);
  EXPECT_TRUE(receive("s").empty());
  EXPECT_EQ(remove("s", held[0]), ReceiptOutcome::done);
  world_.pass(30'000);
  EXPECT_EQ(receive("s").size(), 2U);
}

TEST_F(StreamsTest, AReceiptWhoseTimeHasRunOutDeletesUnlessSomebodyReceivedTheMessageSince) {
  create({.name = "s"});
  send("s", 2);
  const auto first = receive("s");
  world_.pass(30'000);
  EXPECT_EQ(remove("s", first[0]), ReceiptOutcome::done);
  EXPECT_EQ(view("s").visible, 1U);
  const auto second = receive("s");
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].receive, 2U);
  EXPECT_EQ(remove("s", first[1]), ReceiptOutcome::done);
  EXPECT_EQ(view("s").in_flight, 1U);
  EXPECT_EQ(remove("s", second[0]), ReceiptOutcome::done);
  EXPECT_EQ(view("s").in_flight, 0U);
}

TEST_F(StreamsTest, VisibilityIsExtendedReleasedAndBounded) {
  create({.name = "s"});
  send("s");
  const auto held = receive("s").at(0);
  EXPECT_EQ(hold("s", held, 100'000), ReceiptOutcome::done);
  world_.pass(99'000);
  EXPECT_TRUE(receive("s").empty());
  EXPECT_EQ(hold("s", held, kLongestVisibilityMs), ReceiptOutcome::too_long);
  EXPECT_EQ(hold("s", held, 0), ReceiptOutcome::done);
  EXPECT_EQ(hold("s", held, 10), ReceiptOutcome::not_in_flight);
  EXPECT_EQ(receive("s").size(), 1U);
  EXPECT_EQ(hold("s", held, 10), ReceiptOutcome::expired);
}

TEST_F(StreamsTest, ADelayedMessageAppearsWhenItsTimeHasCome) {
  create({.name = "s", .delay_ms = 5'000});
  send("s", {{.delay_ms = 0}, {.delay_ms = 60'000}, {}});
  EXPECT_EQ(view("s").delayed, 2U);
  EXPECT_EQ(receive("s").size(), 1U);
  world_.pass(5'000);
  EXPECT_EQ(receive("s").size(), 1U);
  world_.restart();
  world_.pass(54'999);
  EXPECT_EQ(view("s").delayed, 1U);
  world_.pass(1);
  EXPECT_EQ(view("s").delayed, 0U);
}

TEST_F(StreamsTest, AReceiveWaitsForAMessageAndIsAnsweredWithTheSend) {
  create({.name = "s"});
  EXPECT_TRUE(receive(ReceiveMessages{.stream = "s", .most = 10, .wait_ms = 20'000}).empty());
  EXPECT_TRUE(receive(ReceiveMessages{.stream = "s", .most = 10, .wait_ms = 20'000, .receiver = 7}).empty());
  EXPECT_EQ(view("s").receivers, 2U);
  world_.ask(StopReceiving{"s", 7});
  EXPECT_EQ(view("s").receivers, 1U);
  send("s", 2);
  EXPECT_EQ(given_meanwhile(), 2U);
  EXPECT_EQ(view("s").receivers, 0U);
  EXPECT_TRUE(receive(ReceiveMessages{.stream = "s", .wait_ms = 20'000}).empty());
  world_.pass(20'000);
  EXPECT_EQ(view("s").receivers, 0U);
}

TEST_F(StreamsTest, AGroupIsReceivedInOrderAndBlockedUntilAllOfItIsDeletedOrVisibleAgain) {
  create({.name = "s.fifo", .fifo = true});
  const auto sent = send("s.fifo", {in_group("a"), in_group("a"), in_group("b"), in_group("a")});
  const auto first = receive("s.fifo", 2);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].message, sent[0].message);
  EXPECT_EQ(first[1].message, sent[1].message);
  const auto other = receive("s.fifo");
  ASSERT_EQ(other.size(), 1U);
  EXPECT_EQ(other[0].message, sent[2].message);
  EXPECT_EQ(remove("s.fifo", first[0]), ReceiptOutcome::done);
  EXPECT_TRUE(receive("s.fifo").empty());
  EXPECT_EQ(hold("s.fifo", first[1], 0), ReceiptOutcome::done);
  const auto again = receive("s.fifo");
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].message, sent[1].message);
  EXPECT_EQ(again[1].message, sent[3].message);
  EXPECT_EQ(remove("s.fifo", first[1]), ReceiptOutcome::expired);
  world_.pass(30'000);
  EXPECT_EQ(remove("s.fifo", again[0]), ReceiptOutcome::expired);
}

TEST_F(StreamsTest, TheSameMessageIsTakenOnceInFiveMinutes) {
  create({.name = "s.fifo", .fifo = true});
  const NewMessage message{.group = "a", .deduplication = "x"};
  const auto first = send("s.fifo", {message}).at(0);
  const auto held = receive("s.fifo").at(0);
  remove("s.fifo", held);
  world_.restart();
  const auto second = send("s.fifo", {message}).at(0);
  EXPECT_TRUE(second.is_duplicate);
  EXPECT_EQ(second.id, first.id);
  EXPECT_EQ(view("s.fifo").visible, 0U);
  world_.pass(kDeduplicationMs);
  EXPECT_FALSE(send("s.fifo", {message}).at(0).is_duplicate);
}

TEST_F(StreamsTest, AMessageThatIsReceivedTooOftenGoesToTheDeadLetters) {
  create({.name = "dead"});
  create({.name = "s", .max_receives = 2, .dead_letters = "dead"});
  send("s");
  EXPECT_EQ(receive("s").size(), 1U);
  world_.pass(30'000);
  EXPECT_EQ(view("s").visible, 1U);
  EXPECT_EQ(receive("s").size(), 1U);
  world_.pass(30'000);
  EXPECT_EQ(view("s").visible, 0U);
  EXPECT_EQ(view("dead").visible, 1U);
  const auto dead = receive("dead").at(0);
  EXPECT_EQ(dead.receive, 1U);
  const auto is_move = [](const Mutation& it) { return std::holds_alternative<MoveMessage>(it); };
  const auto move = std::ranges::find_if(world_.mutations, is_move);
  ASSERT_NE(move, world_.mutations.end());
  EXPECT_EQ(std::get<MoveMessage>(*move).to.message, dead.message);
  EXPECT_EQ(std::get<MoveMessage>(*move).to.receives, 2U);
}

TEST_F(StreamsTest, OldMessagesExpireWhetherTouchedOrNot) {
  create({.name = "s", .retention_ms = kShortestRetentionMs});
  send("s", 5);
  receive(ReceiveMessages{.stream = "s", .most = 2, .visibility_ms = kLongestVisibilityMs});
  world_.pass(30'000);
  send("s", 1);
  world_.pass(30'000);
  EXPECT_EQ(view("s").visible, 1U);
  EXPECT_EQ(view("s").in_flight, 0U);
  world_.pass(30'000);
  EXPECT_EQ(view("s").visible, 0U);
  EXPECT_EQ(view("s").oldest_ms, 0);
  EXPECT_TRUE(world_.core.durable().messages.begin()->second.blocks.empty());
}

TEST_F(StreamsTest, APurgeLeavesNothingAndADroppedStreamIsGone) {
  create({.name = "s"});
  send("s", 5);
  const auto held = receive("s", 2);
  EXPECT_TRUE(std::holds_alternative<StreamPurged>(world_.ask(PurgeStream{"s"})));
  EXPECT_EQ(view("s").visible + view("s").in_flight, 0U);
  EXPECT_EQ(remove("s", held[0]), ReceiptOutcome::done);
  send("s");
  EXPECT_EQ(receive("s").size(), 1U);
  EXPECT_TRUE(receive(ReceiveMessages{.stream = "s", .wait_ms = 20'000}).empty());
  EXPECT_TRUE(std::holds_alternative<StreamDropped>(world_.ask(DropStream{"s"})));
  EXPECT_EQ(std::get<Refused>(world_.ask(AskStreams{"s"})).error.message, "stream 's' not found");
}

TEST_F(StreamsTest, WhatAnAttemptHoldsIsReleasedWhenItEnds) {
  create({.name = "s"});
  send("s", 300);
  world_.submit(1);
  const WorkerId worker = world_.worker("w");
  const Lease lease = world_.poll(worker, 1).at(0);
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(
        receive(ReceiveMessages{.stream = "s", .most = 10, .visibility_ms = 8'000'000, .holder = token(lease)}).size(),
        10U);
  }
  EXPECT_EQ(view("s").in_flight, 300U);
  world_.restart();
  EXPECT_EQ(view("s").in_flight, 300U);
  world_.end(worker, token(lease), TestWorld::failure());
  world_.tick_while_due();
  EXPECT_EQ(view("s").visible, 300U);
  const Effect refused = world_.ask(ReceiveMessages{.stream = "s", .holder = token(lease)});
  EXPECT_EQ(std::get<Refused>(refused).error.code, ErrorCode::denied);
}

TEST_F(StreamsTest, ManyWaitingMessagesAreFewRecords) {
  create({.name = "s"});
  world_.inspects = false;
  for (int i = 0; i < 10'000; ++i) {
    send("s", 10);
    world_.now_ms += 1;
  }
  EXPECT_EQ(view("s").visible, 100'000U);
  EXPECT_LT(world_.core.durable().messages.begin()->second.blocks.size(), 100U);
}

TEST_F(StreamsTest, AStreamChangesOnlyFromTheVersionThatWasRead) {
  create({.name = "s"});
  EXPECT_TRUE(std::holds_alternative<Refused>(world_.ask(SetStream{{.name = "s"}, 0})));
  EXPECT_TRUE(std::holds_alternative<StreamSet>(world_.ask(SetStream{{.name = "s", .delay_ms = 9}, 1})));
  EXPECT_EQ(view("s").stream.delay_ms, 9);
  EXPECT_EQ(view("s").stream.version, 2U);
}

TEST_F(StreamsTest, WhatAnOutboxSendsAgainIsTakenOnce) {
  create({.name = "events"});
  const auto feed = [&](std::uint64_t outbox, std::vector<std::uint64_t> numbers) {
    SendMessages command{.stream = "events", .messages = {}, .feed = outbox};
    for (const std::uint64_t number : numbers) {
      command.messages.push_back({.content = std::make_shared<const std::string>("content"), .feed_number = number});
    }
    std::size_t taken = 0;
    const auto sent = std::get<MessagesSent>(world_.ask(command));
    for (const auto& it : sent.messages) taken += it.is_duplicate ? 0 : 1;
    return taken;
  };
  EXPECT_EQ(feed(7, {1, 2, 5}), 3U);
  EXPECT_EQ(feed(7, {2, 5, 6}), 1U);
  world_.restart();
  EXPECT_EQ(feed(7, {5, 6, 9}), 1U);
  EXPECT_EQ(receive("events").size(), 5U);
  // One that was made anew counts from the beginning.
  EXPECT_EQ(feed(8, {1, 2}), 2U);
  EXPECT_EQ(feed(8, {1, 2}), 0U);
}

}  // namespace
}  // namespace drover
