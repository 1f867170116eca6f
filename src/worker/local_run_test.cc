// The whole of a run in one process: engine, store, agent, slots and control socket, with all their threads.
#include "worker/local_run.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <boost/json.hpp>
#include <filesystem>
#include <thread>

#include "run/process_runner.h"
#include "store/sqlite_store.h"
#include "wire/definition.h"

namespace drover {
namespace {

class LocalRuns : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/drover-local-XXXXXX";
    root_ = mkdtemp(pattern);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  /// Opens a run of `count` numbers, as `drover run --range` would, or goes on with the one that is there.
  void open(const std::vector<std::string>& command, std::uint64_t count, const Policy& policy = {}) {
    auto folder = RunFolder::hold(root_, "r", [](const std::string&) {});
    ASSERT_TRUE(folder);
    folder_ = std::make_unique<RunFolder>(std::move(*folder));
    store_ = std::move(*open_sqlite_store(folder_->database()));
    reader_ = std::move(*open_sqlite_reader(folder_->database()));
    run_ = std::make_unique<LocalRun>(
        *folder_, runner_, *reader_, LocalRunOptions{.slots = 2, .out_dir = {}},
        LocalRun::Listener{.progress = [](const RunProgress&) {},
                           .failed = [](const FailedAttempt&) {},
                           .notice = [&](const std::string& text) { said_.push_back(text); }});
    if (reader_->jobs()->empty()) {
      const auto manifest = write_range_manifest(*store_, 1, count);
      const auto definition = store_->add_definition(definition_to_json({.command = command, .workdir = "/"}));
      ASSERT_TRUE(run_->start(*store_));
      ASSERT_TRUE(
          run_->engine().ask(SubmitJob{{.name = "r", .policy = policy}, count, Uuid{}, *definition, manifest->id}));
    } else {
      ASSERT_TRUE(run_->start(*store_));
    }
  }
  Result<RunEnd> go() { return run_->run(reader_->jobs()->back()); }
  Job job() { return reader_->jobs()->back(); }
  void close() {
    run_.reset();
    reader_.reset();
    store_.reset();
    folder_.reset();
  }
  boost::json::object ask(const char* verb) const {
    while (true) {
      auto answer = ask_holder(folder_->path(), {{"verb", verb}});
      if (answer) return *answer;
      std::this_thread::yield();
    }
  }
  void wait_until_running() const {
    while (ask("status").at("running").as_array().empty()) std::this_thread::yield();
  }

  std::string root_;
  ProcessRunner runner_;
  std::unique_ptr<RunFolder> folder_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreReader> reader_;
  std::unique_ptr<LocalRun> run_;
  std::vector<std::string> said_;
};

TEST_F(LocalRuns, RunsEveryItemOnce) {
  open({"true"}, 300);
  ASSERT_EQ(go().value(), RunEnd::job_ended);
  EXPECT_EQ(job().succeeded, 300U);
  EXPECT_EQ(job().state, JobState::succeeded);
}

TEST_F(LocalRuns, ACancelFromOutsideIsAnsweredAndEndsTheRun) {
  open({"sleep", "1000", "{}"}, 10, Policy{.grace_ms = 100});
  boost::json::object answer;
  std::thread user([&] {
    wait_until_running();
    answer = ask("cancel");
  });
  const auto end = go();
  user.join();
  EXPECT_EQ(end.value(), RunEnd::job_ended);
  EXPECT_TRUE(answer.at("ok").as_bool());
  EXPECT_EQ(job().state, JobState::cancelled);
}

TEST_F(LocalRuns, ACancelOfWhatOnlyWaitsIsAnsweredToo) {
  open({"false"}, 1, Policy{.max_tries = 3, .retry_delay_ms = 3'600'000});
  boost::json::object answer;
  std::thread user([&] { answer = ask("cancel"); });
  ASSERT_TRUE(go());
  user.join();
  EXPECT_TRUE(answer.at("ok").as_bool());
}

TEST_F(LocalRuns, AnInterruptDrainsAndTheRestRunsLater) {
  open({"sh", "-c", "exec sleep 0.3"}, 20);
  std::thread user([&] {
    wait_until_running();
    kill(getpid(), SIGINT);
  });
  EXPECT_EQ(go().value(), RunEnd::interrupted);
  user.join();
  const std::uint64_t done = job().succeeded;
  EXPECT_LT(done, 20U);
  close();
  open({}, 0);
  ASSERT_TRUE(go());
  EXPECT_EQ(job().succeeded, 20U);
}

TEST_F(LocalRuns, ARunThatDiedWhileItWasBeingCancelledCanBeReopened) {
  open({"sleep", "1000", "{}"}, 5, Policy{.grace_ms = 3'600'000});
  std::thread user([&] {
    wait_until_running();
    ASSERT_TRUE(run_->engine().ask(CancelJob{JobId{1}, "enough"}));
    kill(getpid(), SIGINT);
    kill(getpid(), SIGINT);
  });
  std::ignore = go();
  user.join();
  close();
  open({}, 0);
  const Job found = job();
  EXPECT_TRUE(run_->engine().ask(ReopenJob{found.id, found.epoch, std::nullopt, {}}));
}

TEST_F(LocalRuns, AFullStoreEndsTheRunWithItsError) {
  open({"true"}, 50'000);
  // Another connection takes the tables away: every commit from now on fails.
  std::thread user([&] {
    wait_until_running();
    const std::string drop = "sqlite3 -cmd '.timeout 30000' " + folder_->database() + " 'drop table attempt_rows'";
    ASSERT_EQ(std::system((drop + " >/dev/null").c_str()), 0);
  });
  const auto end = go();
  user.join();
  EXPECT_FALSE(end);
}

}  // namespace
}  // namespace drover
