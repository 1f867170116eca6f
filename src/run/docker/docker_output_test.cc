#include <signal.h>

#include "run/docker/docker_fixture.h"

namespace drover {
namespace {

using DockerOutput = DockerTest;

TEST_F(DockerOutput, TheStreamsAreToldApart) {
  const Ended ended = run(shell("echo out; echo err >&2; echo out again"));
  EXPECT_EQ(ended.out, "out\nout again\n");
  EXPECT_EQ(ended.err, "err\n");
  EXPECT_EQ(ended.stdout_bytes, 14U);
  EXPECT_EQ(ended.stderr_bytes, 4U);
}

TEST_F(DockerOutput, ALastLineWithoutItsEndIsKept) {
  EXPECT_EQ(run(shell("printf 'no end'")).out, "no end");
  EXPECT_EQ(run(task({"true"})).out, "");
}

TEST_F(DockerOutput, WhatLooksLikeAnInitsMessageIsAnItemsOutput) {
  const Ended ended = run(shell("echo '[FATAL tini (7)] exec x failed: but it was not' >&2; echo more >&2; exit 127"));
  EXPECT_EQ(ended.outcome, (Outcome{.exit_code = 127}));
  EXPECT_EQ(ended.err, "[FATAL tini (7)] exec x failed: but it was not\nmore\n");
  const Ended alone = run(shell("printf '[FATAL ti' >&2"));
  EXPECT_EQ(alone.err, "[FATAL ti");
  EXPECT_TRUE(alone.outcome.success());
}

TEST_F(DockerOutput, FiveMebibytesOfAnythingArriveWhole) {
  std::string bytes(std::size_t{5} << 20, '\0');
  std::uint32_t state = 1;
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1'664'525 + 1'013'904'223) >> 24);
  std::ofstream(folder_ / "bytes", std::ios::binary) << bytes;
  options().mounts = {{folder_, "/data", true}};
  const Ended ended = run(shell("cat /data/bytes"));
  EXPECT_TRUE(ended.outcome.success());
  EXPECT_EQ(ended.stdout_bytes, bytes.size());
  EXPECT_TRUE(ended.out == bytes);
}

TEST_F(DockerOutput, AnAttemptThatPrintsWaitsUntilItIsHeard) {
  options().mounts = {{folder_, "/data"}};
  const Task printing = shell("head -c 50000000 /dev/zero; touch /data/done");
  slot().start(printing);
  EXPECT_TRUE(std::holds_alternative<AttemptPrinted>(next_event_of_any_kind()));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "done"));
  ::poll(nullptr, 0, 1000);  // to give it the time that it would need
  EXPECT_FALSE(std::filesystem::exists(folder_ / "done"));
  const Ended ended = next_end();
  EXPECT_TRUE(ended.outcome.success());
  EXPECT_EQ(ended.stdout_bytes, 50'000'000U);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "done"));
}

TEST_F(DockerOutput, NothingIsLostWhenItEndsUnheard) {
  // About as much as there is room for on the way, so that some of them end with their last bytes still in a pipe.
  constexpr std::size_t kLeast = std::size_t{1800} << 10;
  constexpr std::size_t kStep = std::size_t{32} << 10;
  constexpr std::size_t kSlots = 24;
  slot();
  std::vector<std::unique_ptr<Slot>> slots;
  for (std::size_t i = 0; i < kSlots; ++i) {
    slots.push_back(std::move(runner().open_slot(setup_).value()));
    slots.back()->start(shell("head -c " + std::to_string(kLeast + i * kStep) + " /dev/zero; echo the last line"));
  }
  ::poll(nullptr, 0, 8000);  // longer than the daemon itself waits for a listener
  for (std::size_t i = 0; i < kSlots; ++i) {
    slot_ = std::move(slots[i]);
    const Ended ended = next_end();
    EXPECT_EQ(ended.out.size(), kLeast + i * kStep + 14) << i;
    EXPECT_TRUE(ended.out.ends_with("the last line\n")) << i;
  }
}

TEST_F(DockerOutput, TooMuchKeepsItsBeginningAndItsEnd) {
  setup_.limits.log_bytes = 1000;
  const Ended ended = run(shell("echo begin; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end"));
  EXPECT_EQ(ended.stdout_bytes, 3'000'000U + 6 + 1 + 4);
  EXPECT_TRUE(ended.out.starts_with("begin\nxxx"));
  EXPECT_TRUE(ended.out.ends_with("xxx\nend\n"));
  EXPECT_LE(ended.out.size(), 1000U);
  const std::size_t cut = ended.stdout_bytes - ended.out.size();
  EXPECT_EQ(ended.notes,
            "[drover: " + std::to_string(cut) + " bytes were cut out here; the limit is 1000 bytes of output]\n");
}

TEST_F(DockerOutput, FullCopiesAreWrittenWhereTheTaskAsks) {
  setup_.limits.log_bytes = 1000;
  Task copied = shell("seq 1 1000; echo err >&2");
  copied.stdout_path = folder_ / "out";
  copied.stderr_path = folder_ / "err";
  EXPECT_LE(run(copied).out.size(), 1000U);
  EXPECT_EQ(read_file(folder_ / "out").size(), 3893U);
  EXPECT_EQ(read_file(folder_ / "err"), "err\n");

  copied.token.item = ItemIndex(next_item_++);
  copied.stdout_path = folder_ / "missing" / "out";
  const Outcome outcome = run(copied).outcome;
  EXPECT_EQ(outcome.ending, Ending::not_started);
  EXPECT_EQ(outcome.reason, "could not create " + copied.stdout_path + ": No such file or directory");
}

}  // namespace
}  // namespace drover
