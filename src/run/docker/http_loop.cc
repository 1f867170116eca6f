#include "run/docker/http_loop.h"

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <future>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace drover {
namespace {

// An answer that is kept whole is a few kilobytes; a daemon gone mad must not take our memory.
constexpr std::size_t kMostKept = std::size_t{64} << 20;
constexpr long kConnectSeconds = 10;
constexpr int kLongestWaitMs = 60'000;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

struct HttpLoop::Transfer {
  Transfer() : handle(::curl_easy_init()) {}
  ~Transfer() {
    ::curl_easy_cleanup(handle);
    ::curl_slist_free_all(headers);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  bool is_accepted() const { return answer.status >= 200 && answer.status < 300; }

  HttpLoop* loop = nullptr;
  Exchange id = 0;
  CURL* handle;
  curl_slist* headers = nullptr;
  std::unique_ptr<std::FILE, CloseFile> upload;
  DaemonRequest request;
  HttpAnswer answer;
  DaemonStream stream;
  Done done;
};

HttpLoop::HttpLoop(std::string socket_path) : socket_path_(std::move(socket_path)) {
  static const CURLcode started = ::curl_global_init(CURL_GLOBAL_DEFAULT);
  DROVER_CHECK(started == CURLE_OK, "libcurl did not start");
  multi_ = ::curl_multi_init();
  // Signals are for whoever started us, and may be waited for there.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { turn(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_setname_np(thread_.native_handle(), "docker");
}

HttpLoop::~HttpLoop() {
  post([this] { is_ending_ = true; });
  thread_.join();
  for (const auto& [id, transfer] : transfers_) ::curl_multi_remove_handle(multi_, transfer->handle);
  transfers_.clear();
  ::curl_multi_cleanup(multi_);
}

void HttpLoop::post(Work work) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
  }
  ::curl_multi_wakeup(multi_);
}

HttpAnswer HttpLoop::call(DaemonRequest request, DaemonStream stream) {
  DROVER_CHECK(std::this_thread::get_id() != thread_.get_id(), "the loop would wait for itself");
  std::promise<HttpAnswer> promise;
  std::future<HttpAnswer> answer = promise.get_future();
  post([&] { send(std::move(request), [&](HttpAnswer it) { promise.set_value(std::move(it)); }, std::move(stream)); });
  return answer.get();
}

HttpLoop::Exchange HttpLoop::send(DaemonRequest request, Done done, DaemonStream stream) {
  auto transfer = std::make_unique<Transfer>();
  transfer->loop = this;
  transfer->id = ++last_;
  transfer->request = std::move(request);
  transfer->stream = std::move(stream);
  transfer->done = std::move(done);
  const DaemonRequest& asked = transfer->request;
  CURL* handle = transfer->handle;
  ::curl_easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, socket_path_.c_str());
  ::curl_easy_setopt(handle, CURLOPT_URL, concat("http://docker", asked.path).c_str());
  ::curl_easy_setopt(handle, CURLOPT_PROXY, "");
  ::curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  ::curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, &HttpLoop::on_header);
  ::curl_easy_setopt(handle, CURLOPT_HEADERDATA, transfer.get());
  ::curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &HttpLoop::on_bytes);
  ::curl_easy_setopt(handle, CURLOPT_WRITEDATA, transfer.get());
  ::curl_easy_setopt(handle, CURLOPT_PRIVATE, transfer.get());
  if (asked.silence_limit.count() > 0) {
    ::curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
    ::curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(asked.silence_limit.count()));
  }
  const auto add_header = [&](const char* text) { transfer->headers = ::curl_slist_append(transfer->headers, text); };
  add_header("Expect:");
  add_header("Accept:");
  if (!asked.upload_path.empty()) {
    transfer->upload.reset(std::fopen(asked.upload_path.c_str(), "rbe"));
    std::error_code unknown;
    const std::uintmax_t size = std::filesystem::file_size(asked.upload_path, unknown);
    ::curl_easy_setopt(handle, CURLOPT_POST, 1L);
    ::curl_easy_setopt(handle, CURLOPT_READDATA, transfer->upload.get());
    ::curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(unknown ? 0 : size));
  } else if (asked.method != "GET") {
    ::curl_easy_setopt(handle, CURLOPT_POSTFIELDS, asked.body.data());
    ::curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(asked.body.size()));
    if (asked.headers.empty()) add_header(asked.body.empty() ? "Content-Type:" : "Content-Type: application/json");
  }
  ::curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, asked.method.c_str());
  for (const std::string& header : asked.headers) add_header(header.c_str());
  ::curl_easy_setopt(handle, CURLOPT_HTTPHEADER, transfer->headers);
  ::curl_multi_add_handle(multi_, handle);
  const Exchange id = transfer->id;
  transfers_.emplace(id, std::move(transfer));
  return id;
}

void HttpLoop::resume(Exchange exchange) {
  const auto found = transfers_.find(exchange);
  if (found != transfers_.end()) ::curl_easy_pause(found->second->handle, CURLPAUSE_CONT);
}

void HttpLoop::cancel(Exchange exchange) {
  const auto found = transfers_.find(exchange);
  if (found == transfers_.end()) return;
  ::curl_multi_remove_handle(multi_, found->second->handle);
  transfers_.erase(found);
}

void HttpLoop::after(std::chrono::milliseconds wait, Work work) {
  timers_.emplace(Clock::now() + wait, std::move(work));
}

std::size_t HttpLoop::on_header(char* bytes, std::size_t size, std::size_t count, void* of) {
  Transfer& transfer = *static_cast<Transfer*>(of);
  const std::string_view line(bytes, size * count);
  if (line == "\r\n") {
    long status = 0;
    ::curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
    transfer.answer.status = static_cast<int>(status);
    if (transfer.is_accepted() && transfer.stream.opened) transfer.loop->opened_.push_back(transfer.id);
  }
  return size * count;
}

std::size_t HttpLoop::on_bytes(char* bytes, std::size_t size, std::size_t count, void* of) {
  Transfer& transfer = *static_cast<Transfer*>(of);
  const std::string_view piece(bytes, size * count);
  if (transfer.is_accepted() && transfer.stream.take) {
    return transfer.stream.take(piece) ? piece.size() : CURL_WRITEFUNC_PAUSE;
  }
  if (transfer.answer.body.size() + piece.size() > kMostKept) return 0;
  transfer.answer.body += piece;
  return piece.size();
}

void HttpLoop::turn() {
  while (!is_ending_) {
    int running = 0;
    ::curl_multi_perform(multi_, &running);
    run_opened();
    finish_ended();
    run_due();
    run_posted();
    if (!is_ending_ && opened_.empty()) ::curl_multi_poll(multi_, nullptr, 0, wait_ms(), nullptr);
  }
}

void HttpLoop::run_posted() {
  std::vector<Work> works;
  {
    const std::lock_guard lock(mutex_);
    works.swap(posted_);
  }
  for (Work& work : works) work();
}

void HttpLoop::run_opened() {
  for (const Exchange id : std::exchange(opened_, {})) {
    const auto found = transfers_.find(id);
    if (found == transfers_.end()) continue;
    // A copy: it may cancel its own exchange.
    const Work opened = found->second->stream.opened;
    opened();
  }
}

void HttpLoop::run_due() {
  while (!timers_.empty() && timers_.begin()->first <= Clock::now()) {
    const Work work = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    work();
  }
}

void HttpLoop::finish_ended() {
  int left = 0;
  while (const CURLMsg* message = ::curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    CURL* handle = message->easy_handle;
    char* of = nullptr;
    ::curl_easy_getinfo(handle, CURLINFO_PRIVATE, &of);
    const auto found = transfers_.find(reinterpret_cast<Transfer*>(of)->id);
    ::curl_multi_remove_handle(multi_, handle);
    const std::unique_ptr<Transfer> transfer = std::move(found->second);
    transfers_.erase(found);
    if (code != CURLE_OK) transfer->answer.problem = ::curl_easy_strerror(code);
    if (transfer->done) transfer->done(std::move(transfer->answer));
  }
}

int HttpLoop::wait_ms() const {
  if (timers_.empty()) return kLongestWaitMs;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kLongestWaitMs));
}

}  // namespace drover
