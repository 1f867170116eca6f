#include "wire/worker_protocol.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"

namespace drover {
namespace {

std::string text(Random& random, std::size_t most) {
  std::string bytes(random.below(most + 1), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.next());
  return bytes;
}

EndedAttempt ended(Random& random) {
  EndedAttempt it;
  it.token = {GrantId{random.next()}, ItemIndex{random.next()}};
  it.outcome = {.ending = static_cast<Ending>(random.below(7)),
                .exit_code = static_cast<std::int32_t>(random.below(512)) - 256,
                .signal = static_cast<std::int32_t>(random.below(65)),
                .reason = "reason " + std::to_string(random.below(9))};
  it.usage = {.started_ms = static_cast<std::int64_t>(random.below(1 << 30)),
              .wall_us = static_cast<std::int64_t>(random.below(1 << 30)),
              .user_us = static_cast<std::int64_t>(random.below(1 << 30)),
              .system_us = static_cast<std::int64_t>(random.below(1 << 30)),
              .peak_memory_kib = static_cast<std::int64_t>(random.below(1 << 30)),
              .read_bytes = static_cast<std::int64_t>(random.below(1 << 30)),
              .written_bytes = static_cast<std::int64_t>(random.below(1 << 30))};
  it.slot = static_cast<std::uint32_t>(random.below(64));
  it.log = {.extents = Bytes{text(random, 20)}, .bytes = random.next() >> 4, .last_line = text(random, 30)};
  return it;
}

WorkerPoll poll(Random& random) {
  WorkerPoll it;
  it.poll.report.worker = WorkerId{random.next()};
  it.poll.report.incarnation = random.next();
  it.frames.resize(random.below(4));
  for (std::string& frame : it.frames) frame = text(random, 100);
  for (std::uint64_t i = random.below(5); i > 0; --i) {
    it.poll.report.ended.push_back(ended(random));
    it.ended_frames.emplace_back();
    for (std::uint32_t frame = 0; frame < it.frames.size(); ++frame) {
      if (random.below(2) == 0) it.ended_frames.back().push_back(frame);
    }
  }
  for (std::uint64_t i = random.below(5); i > 0; --i) {
    it.poll.report.running.push_back({{GrantId{random.next()}, ItemIndex{random.next()}}, 17});
    it.poll.report.returned.push_back({GrantId{random.next()}, ItemIndex{random.next()}});
    it.poll.given_up.emplace_back(random.next());
  }
  it.poll.report.leaving = static_cast<Leaving>(random.below(3));
  for (std::uint64_t i = random.below(3); i > 0; --i) {
    it.poll.not_now.emplace_back(random.next());
    it.poll.report.notes.push_back({it.poll.not_now.back(), text(random, 30), random.one_in(2)});
  }
  it.poll.number = PollNumber{random.next()};
  it.poll.want = random.below(1000);
  it.poll.wait_ms = static_cast<std::int64_t>(random.below(20'000));
  if (random.one_in(2)) it.poll.room = {random.below(100'000), random.next() >> 2};
  return it;
}

TEST(WorkerProtocol, APollArrivesAsItWasSent) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const WorkerPoll sent = poll(random);
    const auto got = decode_poll(encode(sent));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->poll.report.worker, sent.poll.report.worker);
    EXPECT_EQ(got->poll.report.incarnation, sent.poll.report.incarnation);
    EXPECT_EQ(got->poll.report.ended, sent.poll.report.ended);
    EXPECT_EQ(got->poll.report.running, sent.poll.report.running);
    EXPECT_EQ(got->poll.report.leaving, sent.poll.report.leaving);
    EXPECT_EQ(got->poll.report.returned, sent.poll.report.returned);
    EXPECT_EQ(got->poll.number, sent.poll.number);
    EXPECT_EQ(got->poll.given_up, sent.poll.given_up);
    EXPECT_EQ(got->poll.want, sent.poll.want);
    EXPECT_EQ(got->poll.wait_ms, sent.poll.wait_ms);
    EXPECT_EQ(got->poll.room, sent.poll.room);
    EXPECT_EQ(got->poll.not_now, sent.poll.not_now);
    EXPECT_EQ(got->poll.report.notes, sent.poll.report.notes);
    EXPECT_EQ(got->frames, sent.frames);
    EXPECT_EQ(got->ended_frames, sent.ended_frames);
  }
}

TEST(WorkerProtocol, AnAnswerArrivesAsItWasSent) {
  WorkerPollAnswer sent;
  sent.answer.number = PollNumber{7};
  sent.answer.leases = {{GrantId{1}, JobId{2}, ItemIndex{3}, 2, {AttemptNumber{1}, AttemptNumber{4}}, 5000, 100},
                        {GrantId{2}, JobId{3}, ItemIndex{0}, 50, {}, 0, 0, Resources{500, 7}}};
  sent.answer.stops = {{JobId{9}, StopMode::kill_running}, {JobId{8}, StopMode::finish_running}};
  sent.items = {{.texts = {std::string("a\0b", 3), "\xff"}}, {.texts = {}, .is_range = true, .first_number = -40}};
  sent.answer.gone = {{GrantId{1}, ItemIndex{4}}};
  sent.answer.watched = {{GrantId{1}, ItemIndex{3}}, {GrantId{2}, ItemIndex{9}}};
  sent.answer.drain = true;
  const auto got = decode_poll_answer(encode(sent));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->answer.number, sent.answer.number);
  EXPECT_EQ(got->answer.leases, sent.answer.leases);
  EXPECT_EQ(got->answer.stops, sent.answer.stops);
  EXPECT_EQ(got->answer.gone, sent.answer.gone);
  EXPECT_EQ(got->answer.watched, sent.answer.watched);
  EXPECT_EQ(got->items, sent.items);
  EXPECT_TRUE(got->answer.drain);
}

TEST(WorkerProtocol, SmallMessagesArriveAsTheyWereSent) {
  const WorkerHello hello{
      1, "machine-7", 0xfedcba9876543210, "0.1.0", {2500, 1 << 30, {4, 0, 1}}, {{"zone", "a"}, {"gpu", ""}}};
  EXPECT_EQ(decode_hello(encode(hello)).value(), hello);
  const WorkerWelcome welcome{1, WorkerId{4}, 60'000, 20'000, 99};
  EXPECT_EQ(decode_welcome(encode(welcome)).value(), welcome);
  const WorkerJob job{JobId{4}, "uuid", "name", "{}", "default", "key", 5000};
  EXPECT_EQ(decode_job(encode(job)).value(), job);
  const ItemRange range{JobId{4}, ItemIndex{5}, 6};
  EXPECT_EQ(decode_item_range(encode(range)).value(), range);
  const std::vector<std::string> texts = {"", "a", std::string(1000, '\0')};
  EXPECT_EQ(decode_texts(encode_texts(texts)).value(), texts);
  EXPECT_EQ(decode_job_number(encode_job_number(JobId{12})).value(), JobId{12});
}

TEST(WorkerProtocol, WhatIsNoMessageIsRefusedAndNothingElseHappens) {
  Random random(5);
  const std::string whole = encode(poll(random));
  for (std::size_t size = 0; size < whole.size(); ++size) (void)decode_poll(std::string_view(whole).substr(0, size));
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = whole;
    for (std::uint64_t flips = 1 + random.below(4); flips > 0; --flips) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.next());
    }
    (void)decode_poll(damaged);
    (void)decode_poll_answer(damaged);
    (void)decode_report(damaged);
    (void)decode_upload(damaged);
  }
  EXPECT_FALSE(decode_poll("\xff\xff\xff"));
}

TEST(WorkerProtocol, AnUploadArrivesAsItWasSentAndOneOfBareFramesIsUnderstoodByBothSides) {
  const WorkerUpload sent{
      .frames = {"one", std::string("\0two", 4)},
      .worker = WorkerId{7},
      .shown = {{{GrantId{3}, ItemIndex{4}}, Bytes{"places"}, {0, 1}}, {{GrantId{3}, ItemIndex{5}}, {}, {}}}};
  EXPECT_EQ(decode_upload(encode(sent)).value(), sent);
  // Before attempts were shown, an upload was a list of frames and nothing else.
  EXPECT_EQ(decode_texts(encode(sent)).value(), sent.frames);
  EXPECT_EQ(decode_upload(encode_texts(sent.frames)).value(),
            (WorkerUpload{.frames = sent.frames, .worker = {}, .shown = {}}));
  WorkerUpload bad = sent;
  bad.shown[1].frames = {2};
  EXPECT_FALSE(decode_upload(encode(bad)));
}

TEST(WorkerProtocol, AReferenceToAFrameThatIsNotThereIsRefused) {
  WorkerPoll bad;
  bad.poll.report.ended.resize(1);
  bad.ended_frames = {{3}};
  EXPECT_FALSE(decode_poll(encode(bad)));
}

TEST(WorkerProtocol, WhatAWorkerSaysItUsedIsHeldWithinBounds) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t said : {kMost, kLeast}) {
    WorkerReport sent;
    sent.report.ended.push_back({.usage = {said, said, said, said, said, said, said}});
    sent.report.ended.back().outcome.reason = std::string(1 << 20, 'x');
    sent.report.ended.back().log = {.bytes = ~std::uint64_t{0}, .last_line = std::string(1 << 20, 'x')};
    sent.ended_frames.emplace_back();
    const auto got = decode_report(encode(sent));
    ASSERT_TRUE(got);
    const EndedAttempt& it = got->report.ended.front();
    const Usage& used = it.usage;
    for (const std::int64_t value : {used.started_ms, used.wall_us, used.user_us, used.system_us, used.peak_memory_kib,
                                     used.read_bytes, used.written_bytes}) {
      EXPECT_GE(value, 0);
      EXPECT_LE(value, kMost / 4);
      EXPECT_EQ(value == 0, said < 0);
    }
    EXPECT_LE(it.log.bytes, static_cast<std::uint64_t>(kMost));
    EXPECT_LE(it.outcome.reason.size(), 8192);
    EXPECT_LE(it.log.last_line.size(), 8192);
  }
}

TEST(WorkerProtocol, MoreThanAMachineCanRunIsRefused) {
  WorkerPoll sent;
  sent.poll.report.running.resize(100'001);
  EXPECT_FALSE(decode_poll(encode(sent)));
  sent.poll.report.running.resize(1);
  EXPECT_TRUE(decode_poll(encode(sent)));
  sent.poll.not_now.resize(100'001);
  EXPECT_FALSE(decode_poll(encode(sent)));
  sent.poll.not_now.clear();
  sent.poll.given_up.resize(1'000'001);
  EXPECT_FALSE(decode_poll(encode(sent)));
}

}  // namespace
}  // namespace drover
