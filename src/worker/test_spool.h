// A worker's loop, a spool, and a server that answers when it is told to: what the tests of logs on their way share.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <future>
#include <mutex>

#include "ports/entropy.h"
#include "worker/live_logs.h"

namespace drover {

class SpoolTest : public testing::Test {
 protected:
  SpoolTest() : folder_(std::filesystem::temp_directory_path() / ("drover-spool-" + std::to_string(random_number()))) {
    std::filesystem::create_directories(folder_);
    reopen_spool();
  }
  ~SpoolTest() override {
    logs_.reset();
    std::filesystem::remove_all(folder_);
  }

  /// Another process's writer, in the same folder.
  void reopen_spool() {
    live_.reset();
    logs_ = nullptr;  // before the next one looks at the folder
    logs_ = std::make_unique<LogWriter>(folder_, LogWriter::Kind::spool);
    live_ = std::make_unique<LiveLogs>(
        *logs_, folder_, [this](std::function<void()> work) { post(std::move(work)); },
        [this](WorkerUpload upload, LiveLogs::Placed placed) {
          uploads_.push_back(std::move(upload));
          placed_ = std::move(placed);
        });
  }
  void post(std::function<void()> work) {
    const std::scoped_lock lock(mutex_);
    posted_.push_back(std::move(work));
  }
  /// A step, and what comes of it at once.
  void step() {
    live_->step(WorkerId{3}, now_ms_);
    turn();
  }
  /// What the writer's threads have to say by now.
  void turn() {
    std::promise<void> shown;
    logs_->show({}, [&](const auto&) { shown.set_value(); });  // in order: those before it are done
    shown.get_future().wait();
    std::deque<std::function<void()>> work;
    {
      const std::scoped_lock lock(mutex_);
      work.swap(posted_);
    }
    for (const auto& one : work) one();
  }
  /// The server has put the frames somewhere.
  void answer() {
    std::vector<std::string> places;
    for (const std::string& frame : uploads_.back().frames) {
      ExtentList list;
      list.add({9, at_, frame.size()});
      at_ += frame.size();
      places.push_back(list.encode().value);
    }
    placed_(std::move(places));
  }
  /// What was printed, as it stands in these frames; of one attempt, or of all.
  static std::string text_of(const std::vector<std::string>& frames, std::optional<LogKey> key = std::nullopt) {
    std::string text;
    FrameUnpacker unpacker;
    for (const std::string& frame : frames) {
      std::string raw;
      const auto sizes = read_frame_header(frame);
      EXPECT_TRUE(sizes && unpacker.unpack(std::string_view(frame).substr(kFrameHeader), sizes->raw, raw));
      RecordCursor cursor(raw);
      while (const auto record = cursor.next()) {
        if (!key || record->key == *key) text += record->bytes;
      }
    }
    return text;
  }

  const std::filesystem::path folder_;
  std::mutex mutex_;
  std::deque<std::function<void()>> posted_;
  std::vector<WorkerUpload> uploads_;
  LiveLogs::Placed placed_;
  std::uint64_t at_ = 100;
  std::int64_t now_ms_ = 1'000'000;
  std::unique_ptr<LogWriter> logs_;
  std::unique_ptr<LiveLogs> live_;
};

}  // namespace drover
