// A reply on its way from any thread to the connection that waits for it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "net/inbox.h"
#include "ports/http.h"

namespace drover {

class Connection;

/// What was written to a body without an end and not yet taken by the peer: filled by any thread, emptied by the
/// connection's.
class StreamBuffer {
 public:
  enum class Added : std::uint8_t { wake_the_connection, it_knows, peer_is_gone };
  Added add(std::string_view bytes);
  Added end();
  std::size_t unsent() const;
  void when_unsent_below(std::size_t bytes, std::function<void()> call);

  // For the connection.

  struct Taken {
    std::string bytes;
    bool ended = false;  // and there will be no more
  };
  Taken take();
  /// How much of what it took the socket has not.
  void set_in_socket(std::size_t bytes);
  void peer_left();

 private:
  Added told();
  /// What to call now, without the lock, as whoever is called may ask for the next call.
  std::function<void()> due_call();

  mutable std::mutex mutex_;  // guards what follows
  std::string waiting_;
  bool ended_ = false;
  bool woken_ = false;
  bool gone_ = false;
  std::size_t in_socket_ = 0;
  std::size_t wanted_unsent_ = 0;   // with what follows
  std::function<void()> has_room_;  // called when no more than that is unsent
};

/// What a request is answered with: a whole response, or a head and where its body comes from.
struct Answer {
  HttpResponse head;
  std::unique_ptr<HttpBodySource> source;
  std::shared_ptr<StreamBuffer> stream;
  std::optional<HttpFilePart> file = {};
};

class Exchange final : public HttpExchange {
 public:
  Exchange(std::shared_ptr<Inbox> inbox, std::weak_ptr<Connection> connection)
      : inbox_(std::move(inbox)), connection_(std::move(connection)) {}

  void resume(std::move_only_function<void()> work) override { inbox_->post(std::move(work)); }
  void send(HttpResponse response) override { answer({.head = std::move(response)}); }
  void send(HttpResponse head, std::unique_ptr<HttpBodySource> body) override {
    answer({.head = std::move(head), .source = std::move(body)});
  }
  void send(HttpResponse head, HttpFilePart body) override {
    answer({.head = std::move(head), .file = std::move(body)});
  }
  std::shared_ptr<HttpStream> stream(HttpResponse head) override;
  bool peer_is_gone() const override;
  void when_peer_leaves(std::function<void()> call) override;

  void peer_left();

 private:
  void answer(Answer answer);

  std::shared_ptr<Inbox> inbox_;
  std::weak_ptr<Connection> connection_;  // locked on its own thread alone, where it must end
  mutable std::mutex mutex_;              // guards what follows
  bool gone_ = false;
  std::function<void()> on_leave_;
};

}  // namespace drover
