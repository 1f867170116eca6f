#include "server/log_followers.h"

#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <future>
#include <thread>

#include "base/text.h"
#include "logs/log_writer.h"
#include "ports/entropy.h"

namespace drover {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

const JobId kJob{1};
const ItemIndex kItem{4};
const WorkerId kWorker{3};

/// A peer that takes what it gets, or does not.
class Peer : public HttpStream {
 public:
  bool write(std::string bytes) override {
    const std::scoped_lock lock(mutex_);
    if (!gone_) text_ += bytes;
    if (!takes_) unsent_ += bytes.size();
    changed_.notify_all();
    return !gone_;
  }
  std::size_t unsent() const override {
    const std::scoped_lock lock(mutex_);
    return unsent_;
  }
  void when_unsent_below(std::size_t bytes, std::function<void()> call) override {
    {
      const std::scoped_lock lock(mutex_);
      if (!gone_ && unsent_ > bytes) {
        has_room_ = std::move(call);
        return;
      }
    }
    call();
  }
  void end() override {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  void leave() {
    change([&] { gone_ = true; });
  }
  void take(bool takes) {
    change([&] {
      takes_ = takes;
      if (takes) unsent_ = 0;
    });
  }
  std::string text() const {
    const std::scoped_lock lock(mutex_);
    return text_;
  }
  bool has(const std::string& wanted) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] { return text_ == wanted; });
  }
  bool ends() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] { return ended_; });
  }
  bool has_ended() const {
    const std::scoped_lock lock(mutex_);
    return ended_;
  }

 private:
  /// Something that may be what the writer waits for.
  void change(const std::function<void()>& to) {
    std::function<void()> call;
    {
      const std::scoped_lock lock(mutex_);
      to();
      if (gone_ || unsent_ == 0) call = std::exchange(has_room_, {});
    }
    if (call) call();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> has_room_;
  std::string text_;
  std::size_t unsent_ = 0;
  bool takes_ = true;
  bool gone_ = false;
  bool ended_ = false;
};

/// A core that knows who runs the item, a ledger, and the server's logs.
class LogFollowersTest : public testing::Test {
 protected:
  LogFollowersTest()
      : folder_(fs::temp_directory_path() / ("drover-follow-" + std::to_string(random_number()))),
        logs_(std::make_unique<LogWriter>(folder_)) {
    followers_ = std::make_unique<LogFollowers>(
        LogFollowers::Outside{.watch =
                                  [this](Watch, const std::function<void(Result<Effect>)>& answered) {
                                    std::optional<Watched::Running> running;
                                    {
                                      const std::scoped_lock lock(mutex_);
                                      running = running_;
                                      ++watches_;
                                      changed_.notify_all();
                                    }
                                    answered(Effect(Watched{running}));
                                  },
                              .later =
                                  [this](const Holder&, std::function<void()> work) {
                                    const std::scoped_lock lock(mutex_);
                                    work_.push_back(std::move(work));
                                    changed_.notify_all();
                                  },
                              .look = [this](JobId, ItemIndex) -> Result<LogFollowers::Known> {
                                const std::scoped_lock lock(mutex_);
                                return known_;
                              }},
        folder_);
  }
  ~LogFollowersTest() override {
    followers_->stop();
    {
      const std::scoped_lock lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    pool_.join();
    followers_.reset();
    logs_.reset();
    fs::remove_all(folder_);
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return closing_ || !work_.empty(); });
      if (closing_) return;
      const auto one = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      one();
      lock.lock();
    }
  }

  static Token token(std::uint32_t attempt) { return {GrantId{attempt}, kItem}; }
  void runs(std::uint32_t attempt) {
    const std::scoped_lock lock(mutex_);
    running_ = Watched::Running{kWorker, token(attempt), AttemptNumber{attempt}};
  }
  ExtentList print(std::uint32_t attempt, const std::string& text) {
    const LogKey key{kJob, kItem, AttemptNumber{attempt}};
    logs_->add(key, LogStream::out, 1, text);
    std::promise<ExtentList> shown;
    logs_->show(key, [&](const Result<Bytes>& place) { shown.set_value(ExtentList::decode(place->value)); });
    return shown.get_future().get();
  }
  /// The worker says where it is, and may have to say it again: the core must have been asked before.
  void show(std::uint32_t attempt, const ExtentList& extents, WorkerId worker = kWorker) {
    followers_->on_shown(worker, token(attempt), extents);
  }
  void ends(std::uint32_t attempt, AttemptState state, const ExtentList& extents) {
    {
      const std::scoped_lock lock(mutex_);
      running_.reset();
      Attempt row;
      row.job = kJob;
      row.item = kItem;
      row.attempt = AttemptNumber{attempt};
      row.state = state;
      row.settled = state != AttemptState::lost;
      row.log.extents = extents.encode();
      known_.attempts.push_back(row);
    }
    followers_->on_ended({token(attempt)});
  }
  void wait_for_watches(std::uint64_t more) {
    std::unique_lock lock(mutex_);
    const std::uint64_t wanted = watches_ + more;
    EXPECT_TRUE(changed_.wait_for(lock, 20s, [&] { return watches_ >= wanted; }));
  }
  std::shared_ptr<Peer> follow(LogQuestion question = {}) {
    auto peer = std::make_shared<Peer>();
    question.job = kJob;
    question.item = kItem;
    {
      const std::scoped_lock lock(mutex_);
      watches_ = 0;
    }
    EXPECT_TRUE(followers_->add(question, [&] { return peer; }));
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 20s, [&] { return watches_ > 0; }));
    return peer;
  }
  /// Until it has taken notice.
  void show_until(Peer& peer, std::uint32_t attempt, const ExtentList& extents, const std::string& wanted) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (peer.text() != wanted && std::chrono::steady_clock::now() < deadline) {
      show(attempt, extents);
      std::this_thread::sleep_for(5ms);
    }
    EXPECT_EQ(peer.text(), wanted);
  }

  const fs::path folder_;
  std::unique_ptr<LogWriter> logs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Watched::Running> running_;
  LogFollowers::Known known_;
  std::uint64_t watches_ = 0;
  std::deque<std::function<void()>> work_;
  bool closing_ = false;
  std::thread pool_{[this] { work(); }};
  std::unique_ptr<LogFollowers> followers_;
};

TEST_F(LogFollowersTest, WhatIsShownComesOnceAndTheRestWithTheRow) {
  runs(1);
  const auto peer = follow({.follow = true});
  auto extents = print(1, "one\n");
  show_until(*peer, 1, extents, "one\n");
  extents = print(1, "two\nthr");
  show(1, extents);
  EXPECT_TRUE(peer->has("one\ntwo\nthr"));
  show(1, extents);
  extents = print(1, "ee\n");
  ends(1, AttemptState::succeeded, extents);
  EXPECT_TRUE(peer->ends());
  EXPECT_EQ(peer->text(), "one\ntwo\nthree\n");
}

TEST_F(LogFollowersTest, TheRowMayPlaceTheSameFramesElsewhere) {
  runs(1);
  const auto peer = follow({.follow = true});
  const auto first = print(1, "one\n");
  show_until(*peer, 1, first, "one\n");
  // The same frame once more, as after an upload whose answer was lost, and one behind it.
  LogReader reader(folder_);
  SegmentWriter again(folder_);
  ExtentList extents;
  extents.add(*again.append(reader.packed(reader.frames_of(first)->front()).value()));
  const auto both = print(1, "two\n");
  extents.add(both.all().size() > 1 ? both.all()[1]
                                    : Extent{both.all()[0].segment, first.all()[0].offset + first.all()[0].size,
                                             both.all()[0].size - first.all()[0].size});
  ends(1, AttemptState::failed, extents);
  EXPECT_TRUE(peer->ends());
  EXPECT_EQ(peer->text(), "one\ntwo\n");
}

TEST_F(LogFollowersTest, ALostAttemptIsFollowedByTheNext) {
  runs(1);
  const auto peer = follow({.follow = true});
  show_until(*peer, 1, print(1, "of the first\n"), "of the first\n");
  ends(1, AttemptState::lost, {});
  runs(2);
  wait_for_watches(1);
  const auto extents = print(2, "of the second\n");
  show_until(*peer, 2, extents, "of the first\nof the second\n");
  EXPECT_FALSE(peer->has_ended());
  ends(2, AttemptState::succeeded, extents);
  EXPECT_TRUE(peer->ends());
  EXPECT_EQ(peer->text(), "of the first\nof the second\n");
}

TEST_F(LogFollowersTest, OneAttemptIsFollowedToItsOwnEndFromAPlaceOn) {
  runs(1);
  const auto peer = follow({.attempt = AttemptNumber{1}, .skip = 6, .follow = true});
  show_until(*peer, 1, print(1, "known\nnew\n"), "new\n");
  ends(1, AttemptState::lost, {});
  EXPECT_TRUE(peer->ends());
  EXPECT_EQ(peer->text(), "new\n");
}

TEST_F(LogFollowersTest, WhoOnlyAsksGetsWhatIsThereByNow) {
  runs(1);
  const auto peer = follow();
  show_until(*peer, 1, print(1, "so far\n"), "so far\n");
  EXPECT_TRUE(peer->ends());
}

TEST_F(LogFollowersTest, AWorkerThatSaysNothingIsNotWaitedForLong) {
  ends(1, AttemptState::lost, print(1, "before\n"));
  runs(2);
  const auto peer = follow();
  EXPECT_TRUE(peer->ends());
  EXPECT_EQ(peer->text(), "before\n");
}

TEST_F(LogFollowersTest, OnlyTheLastLinesOfWhatIsThereAndThenAllThatComes) {
  runs(1);
  const auto peer = follow({.tail = 2, .follow = true});
  show_until(*peer, 1, print(1, "1\n2\n3\n4\n"), "3\n4\n");
  const auto extents = print(1, "5\n6\n7\n");
  show(1, extents);
  EXPECT_TRUE(peer->has("3\n4\n5\n6\n7\n"));
  ends(1, AttemptState::succeeded, extents);
  EXPECT_TRUE(peer->ends());
}

TEST_F(LogFollowersTest, WholeLinesAreThoseThatHaveEnded) {
  runs(1);
  const auto early = follow({.whole_lines = true, .form = LogForm::json});
  const auto extents = print(1, "one\nabc");
  while (!early->has_ended()) {
    show(1, extents);
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_TRUE(early->text().contains("one"));
  EXPECT_FALSE(early->text().contains("abc"));
  ends(1, AttemptState::succeeded, extents);
  const auto late = follow({.whole_lines = true, .form = LogForm::json});
  EXPECT_TRUE(late->ends());
  EXPECT_TRUE(late->text().contains("abc"));
}

TEST_F(LogFollowersTest, OnlyWhoRunsItHasSomethingToSayOfIt) {
  runs(1);
  const auto peer = follow({.follow = true});
  const auto extents = print(1, "true\n");
  ExtentList none;
  none.add({77, 0, 100});
  for (int i = 0; i < 20; ++i) show(1, none, WorkerId{9});
  show_until(*peer, 1, extents, "true\n");
}

TEST_F(LogFollowersTest, WhoLeavesIsForgotten) {
  runs(1);
  const auto peer = follow({.follow = true});
  peer->leave();
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (peer.use_count() > 1 && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(5ms);
  EXPECT_EQ(peer.use_count(), 1);
  EXPECT_TRUE(followers_->followed({EndedAttempt{.token = token(1)}}).empty());
}

TEST_F(LogFollowersTest, AJobThatEndsWithoutTheItemEndsIt) {
  const auto peer = follow({.follow = true});
  {
    const std::scoped_lock lock(mutex_);
    known_.job_has_ended = true;
  }
  EXPECT_TRUE(peer->ends());
  EXPECT_EQ(peer->text(), "");
}

TEST_F(LogFollowersTest, APeerThatTakesNothingIsWaitedForAndNothingIsLost) {
  ExtentList extents;
  std::string all;
  for (int i = 0; i < 20; ++i) {
    const std::string piece(100'000, static_cast<char>('a' + i));
    all += piece + "\n";
    extents = print(1, piece + "\n");
  }
  ends(1, AttemptState::succeeded, extents);
  auto peer = std::make_shared<Peer>();
  peer->take(false);
  EXPECT_TRUE(followers_->add({.job = kJob, .item = kItem, .follow = true}, [&] { return peer; }));
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(peer->text().size(), 1'000'000U);
  EXPECT_FALSE(peer->has_ended());
  peer->take(true);
  EXPECT_TRUE(peer->ends());
  EXPECT_EQ(peer->text(), all);
}

TEST_F(LogFollowersTest, MoreThanManyAreRefused) {
  runs(1);
  const auto follow = [&](const Holder& holder) {
    return followers_->add({.job = kJob, .item = kItem, .follow = true, .holder = holder},
                           [] { return std::make_shared<Peer>(); });
  };
  for (int i = 0; i < 800; ++i) EXPECT_TRUE(follow({.name = concat("key ", i / 100)}));
  for (const char* name : {"key 0", "another key"}) {
    const auto refused = follow({.name = name});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::in_use);
  }
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(follow({.name = "admin", .may_use_reserve = true}));
  EXPECT_FALSE(follow({.name = "admin", .may_use_reserve = true}));
}

TEST_F(LogFollowersTest, AKeyThatIsNotGoodAnyMoreFollowsNoLonger) {
  runs(1);
  std::atomic<bool> is_good = true;
  auto peer = std::make_shared<Peer>();
  EXPECT_TRUE(followers_->add(
      {.job = kJob, .item = kItem, .follow = true, .holder = {}, .may_still = [&] { return is_good.load(); }},
      [&] { return peer; }));
  EXPECT_FALSE(peer->has_ended());
  is_good = false;
  followers_->on_key_removed();
  EXPECT_TRUE(peer->ends());
}

}  // namespace
}  // namespace drover
