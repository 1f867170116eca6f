#include "notices/background_lines.h"

#include <signal.h>
#include <spdlog/async_logger.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "notices/patient_writer.h"

namespace drover {
namespace {

/// Called by the one thread of the pool.
class LineSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  LineSink(int fd, BackgroundLines::DroppedLine dropped_line) : writer_(fd), dropped_line_(std::move(dropped_line)) {}

  /// Before the first line.
  void set_pool(spdlog::details::thread_pool* pool) { pool_ = pool; }
  void give_up_at(PatientWriter::Clock::time_point when) { writer_.give_up_at(when); }

  /// Whether so many lines were written or dropped by then.
  bool wait_for(std::uint64_t lines, std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return written_.wait_for(lock, patience, [&] { return done_ + pool_->overrun_counter() >= lines; });
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    // What was dropped is older than this line.
    const std::uint64_t dropped = pool_->overrun_counter();
    if (dropped > told_) writer_.write(dropped_line_(dropped - std::exchange(told_, dropped)));
    writer_.write({message.payload.data(), message.payload.size()});
    {
      const std::scoped_lock lock(mutex_);
      ++done_;
    }
    written_.notify_all();
  }
  void flush_() override {}

 private:
  PatientWriter writer_;
  const BackgroundLines::DroppedLine dropped_line_;
  spdlog::details::thread_pool* pool_ = nullptr;
  std::uint64_t told_ = 0;  // of the dropped
  std::mutex mutex_;        // guards what follows
  std::condition_variable written_;
  std::uint64_t done_ = 0;
};

}  // namespace

struct BackgroundLines::Parts {
  std::shared_ptr<LineSink> sink;
  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<spdlog::async_logger> logger;
  std::atomic<std::uint64_t> given{0};
};

BackgroundLines::BackgroundLines(int fd, DroppedLine dropped_line, std::size_t most_waiting)
    : parts_(std::make_unique<Parts>()) {
  parts_->sink = std::make_shared<LineSink>(fd, std::move(dropped_line));
  // Signals are for other threads: this one inherits that they are blocked.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  parts_->pool = std::make_shared<spdlog::details::thread_pool>(most_waiting, 1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  parts_->sink->set_pool(parts_->pool.get());
  parts_->logger = std::make_shared<spdlog::async_logger>("lines", parts_->sink, parts_->pool,
                                                          spdlog::async_overflow_policy::overrun_oldest);
  parts_->logger->set_level(spdlog::level::trace);
  parts_->logger->set_error_handler([](const std::string&) {});  // its own would print to standard error, and wait
}

// The pool's end waits for what is in its queue: that is over soon after the sink gives up.
BackgroundLines::~BackgroundLines() {
  parts_->sink->give_up_at(PatientWriter::Clock::now() + kPatience);
  parts_->pool.reset();
}

void BackgroundLines::write(std::string_view lines) {
  ++parts_->given;
  parts_->logger->log(spdlog::level::info, spdlog::string_view_t(lines.data(), lines.size()));
}

void BackgroundLines::flush(std::chrono::milliseconds patience) {
  parts_->sink->wait_for(parts_->given, patience);
}

std::uint64_t BackgroundLines::dropped() const {
  return parts_->pool->overrun_counter();
}

}  // namespace drover
