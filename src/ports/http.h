// HTTP as its users see it. A handler gets a request and a Reply, which may be answered later and from any thread: when
// a commit is durable, when a long poll has something to say. net/ has the adapter.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/holder.h"
#include "base/result.h"
#include "base/text.h"
#include "ports/descriptor.h"

namespace drover {

struct HttpHeader {
  std::string name;
  std::string value;

  bool operator==(const HttpHeader&) const = default;
};

/// The value of the first one of that name; nullptr: there is none. Letter case does not matter.
inline const std::string* find_header(const std::vector<HttpHeader>& headers, std::string_view name) {
  for (const HttpHeader& it : headers) {
    if (is_same_but_for_case(it.name, name)) return &it.value;
  }
  return nullptr;
}

/// Everything of a request before its body.
struct HttpHead {
  std::string method;  // "GET"
  std::string path;    // as it was sent, escapes and all, without the query
  std::string query;   // behind the '?', as it was sent
  std::vector<HttpHeader> headers;
  std::string peer;  // its address, for people
  bool encrypted = false;

  const std::string* header(std::string_view name) const { return find_header(headers, name); }
};

struct HttpResponse {
  int status = 200;
  std::vector<HttpHeader> headers;
  std::string body;

  const std::string* header(std::string_view name) const { return find_header(headers, name); }
};

/// Takes a large body piece by piece. Called on a thread that may wait for disks, one call after another.
class HttpBodySink {
 public:
  virtual ~HttpBodySink() = default;
  /// What went wrong ends the request: no more is read, and handle() is told by finish() never having been called.
  virtual Result<void> take(std::string_view bytes) = 0;
  /// All of it came.
  virtual Result<void> finish() = 0;
};

/// Gives a large body piece by piece. Called on a thread that may wait for disks, one call after another, and no sooner
/// than the peer has room for it.
class HttpBodySource {
 public:
  virtual ~HttpBodySource() = default;
  /// The next piece; an empty one is the end. After an error the connection is cut, so that the peer sees it is not
  /// whole.
  virtual Result<std::string> next() = 0;
};

/// A part of a file as a body. Where nothing is encrypted its bytes go from the file to the socket without a copy.
struct HttpFilePart {
  Descriptor file;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // a file that turns out to be shorter cuts the connection

  /// Parts that come behind it, each opened when its turn comes, on a thread that may wait for disks. Their sizes
  /// together are `size_behind`, and the last one has no `next`. An error cuts the connection.
  std::uint64_t size_behind = 0;
  std::move_only_function<Result<HttpFilePart>()> next = {};
};

/// A body without an end in sight, such as server-sent events. May be used from any thread.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  /// False: the peer is gone.
  virtual bool write(std::string bytes) = 0;
  /// Written and not yet taken by the peer: whoever writes much should look at it.
  virtual std::size_t unsent() const = 0;
  /// Calls back once, from any thread, as soon as at most this much is unsent or the peer is gone: now, if that is so.
  /// The call must not wait.
  virtual void when_unsent_below(std::size_t bytes, std::function<void()> call) = 0;
  virtual void end() = 0;
};

/// Does work on another thread, some time soon.
using Resume = std::function<void(std::move_only_function<void()> work)>;

/// What a reply is made to. Only net/ and tests see it.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  virtual void resume(std::move_only_function<void()> work) = 0;
  virtual void send(HttpResponse response) = 0;
  virtual void send(HttpResponse head, std::unique_ptr<HttpBodySource> body) = 0;
  virtual void send(HttpResponse head, HttpFilePart body) = 0;
  virtual std::shared_ptr<HttpStream> stream(HttpResponse head) = 0;
  virtual bool peer_is_gone() const = 0;
  virtual void when_peer_leaves(std::function<void()> call) = 0;
};

/// The right to answer one request, once, from any thread. One that is dropped unanswered answers 500.
class HttpReply {
 public:
  explicit HttpReply(std::shared_ptr<HttpExchange> exchange) : exchange_(std::move(exchange)) {}
  HttpReply(HttpReply&&) noexcept = default;
  HttpReply& operator=(HttpReply&& other) noexcept {
    drop();
    exchange_ = std::move(other.exchange_);
    return *this;
  }
  ~HttpReply() { drop(); }

  /// Does work on the I/O thread that serves the peer, before it is answered. The work must not wait. It is dropped if
  /// the server stops before.
  void resume(std::move_only_function<void()> work) { exchange_->resume(std::move(work)); }
  void send(HttpResponse response) { std::exchange(exchange_, nullptr)->send(std::move(response)); }
  /// `head.body` is empty. The peer knows the length beforehand only if there is a Content-Length among the headers.
  void send(HttpResponse head, std::unique_ptr<HttpBodySource> body) {
    std::exchange(exchange_, nullptr)->send(std::move(head), std::move(body));
  }
  /// `head.body` is empty, and there is no Content-Length among the headers.
  void send(HttpResponse head, HttpFilePart body) {
    std::exchange(exchange_, nullptr)->send(std::move(head), std::move(body));
  }
  std::shared_ptr<HttpStream> stream(HttpResponse head) {
    return std::exchange(exchange_, nullptr)->stream(std::move(head));
  }
  bool peer_is_gone() const { return exchange_->peer_is_gone(); }
  /// Calls back once, from any thread, if the peer leaves before it is answered: now, if it has left. The call must not
  /// wait, and must not own this reply. Only the last one that was asked for is made.
  void when_peer_leaves(std::function<void()> call) { exchange_->when_peer_leaves(std::move(call)); }

 private:
  void drop() {
    if (auto exchange = std::exchange(exchange_, nullptr)) exchange->send({.status = 500, .headers = {}, .body = {}});
  }

  std::shared_ptr<HttpExchange> exchange_;
};

/// HttpReply::resume() of a reply that others may own as well.
inline Resume resume_of(std::shared_ptr<HttpReply> reply) {
  return [reply = std::move(reply)](std::move_only_function<void()> work) { reply->resume(std::move(work)); };
}

struct HttpRequest {
  HttpHead head;
  std::string body;                    // all of it, if it was small
  std::unique_ptr<HttpBodySink> sink;  // what took it, if the handler had wanted that, to its finish() or its failure
};

/// What is done with a request, decided once, when its head is there.
struct HttpPlan {
  std::uint64_t most_bytes = 0;         // a longer body is answered with 413
  std::unique_ptr<HttpBodySink> sink;   // nothing: the body is gathered in memory
  std::optional<HttpResponse> refusal;  // the answer already: the body is not read, and `handle` is not called
  bool is_from_stranger = false;        // has shown no key: the first to go when there is no room for others
  std::optional<Holder> holder = {};    // whom the connection counts for, from now on; nothing: for nobody
  /// Called once, when the body is there. On an I/O thread: must not wait.
  std::move_only_function<void(HttpRequest, HttpReply)> handle = {};
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// On an I/O thread: must not wait.
  virtual HttpPlan plan(const HttpHead& head) = 0;
  /// Requests that came together are handed on between these two, on the thread that read them.
  virtual void begin_turn() {}
  virtual void end_turn() {}
};

}  // namespace drover
