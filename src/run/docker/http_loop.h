// HTTP with a daemon behind a Unix socket: many exchanges side by side, on one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace drover {

struct DaemonRequest {
  std::string method = "GET";
  std::string path;
  std::string body;
  std::vector<std::string> headers;       // "Name: value"
  std::string upload_path;                // a file that is the body instead
  std::chrono::seconds silence_limit{0};  // given up after so long without a byte; 0: never
};

struct HttpAnswer {
  int status = 0;
  std::string body;     // of a stream, only that of a refusal
  std::string problem;  // why there is no answer, or only part of one; empty: it is whole
};

/// What comes of an exchange whose answer is read while it comes.
struct DaemonStream {
  std::function<void()> opened;  // it was accepted
  std::function<bool(std::string_view)>
      take;  // false: not now, but again after resume(). Of the loop it may use after()
};

/// Owns the thread `docker`, on which every callback is called and which everything else here but post() and call()
/// belongs to.
class HttpLoop {
 public:
  using Exchange = std::uint64_t;
  using Done = std::function<void(HttpAnswer)>;
  using Work = std::function<void()>;

  explicit HttpLoop(std::string socket_path);
  /// What is under way is given up; its callbacks are not called.
  ~HttpLoop();

  /// From any thread.
  void post(Work work);
  /// From any thread but the loop's: waits for the answer.
  HttpAnswer call(DaemonRequest request, DaemonStream stream = {});

  Exchange send(DaemonRequest request, Done done, DaemonStream stream = {});
  void resume(Exchange exchange);
  /// Its callbacks are not called any more.
  void cancel(Exchange exchange);
  void after(std::chrono::milliseconds wait, Work work);

 private:
  struct Transfer;
  using Clock = std::chrono::steady_clock;

  static std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* transfer);
  static std::size_t on_bytes(char* bytes, std::size_t size, std::size_t count, void* transfer);

  void turn();
  void run_posted();
  void run_opened();
  void run_due();
  void finish_ended();
  int wait_ms() const;

  const std::string socket_path_;
  void* multi_ = nullptr;
  std::map<Exchange, std::unique_ptr<Transfer>> transfers_;
  std::multimap<Clock::time_point, Work> timers_;
  std::vector<Exchange> opened_;
  Exchange last_ = 0;
  bool is_ending_ = false;

  std::mutex mutex_;  // of posted_
  std::vector<Work> posted_;
  std::thread thread_;
};

}  // namespace drover
