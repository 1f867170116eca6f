#include "net/exchange.h"

#include "net/connection.h"

namespace drover {
namespace {

/// The writer's end of a stream.
class Stream final : public HttpStream {
 public:
  Stream(std::shared_ptr<StreamBuffer> buffer, std::shared_ptr<Inbox> inbox, std::weak_ptr<Connection> connection)
      : buffer_(std::move(buffer)), inbox_(std::move(inbox)), connection_(std::move(connection)) {}
  /// One that is dropped has ended.
  ~Stream() override { end(); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  bool write(std::string bytes) override { return tell(buffer_->add(bytes)); }
  std::size_t unsent() const override { return buffer_->unsent(); }
  void when_unsent_below(std::size_t bytes, std::function<void()> call) override {
    buffer_->when_unsent_below(bytes, std::move(call));
  }
  void end() override { tell(buffer_->end()); }

 private:
  bool tell(StreamBuffer::Added added) {
    if (added == StreamBuffer::Added::wake_the_connection) {
      inbox_->post([connection = connection_] {
        if (const auto it = connection.lock()) it->run();
      });
    }
    return added != StreamBuffer::Added::peer_is_gone;
  }

  std::shared_ptr<StreamBuffer> buffer_;
  std::shared_ptr<Inbox> inbox_;
  std::weak_ptr<Connection> connection_;
};

}  // namespace

StreamBuffer::Added StreamBuffer::told() {
  if (gone_) return Added::peer_is_gone;
  return std::exchange(woken_, true) ? Added::it_knows : Added::wake_the_connection;
}

StreamBuffer::Added StreamBuffer::add(std::string_view bytes) {
  const std::scoped_lock lock(mutex_);
  if (!gone_) waiting_ += bytes;
  return told();
}

StreamBuffer::Added StreamBuffer::end() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(ended_, true)) return gone_ ? Added::peer_is_gone : Added::it_knows;
  return told();
}

std::size_t StreamBuffer::unsent() const {
  const std::scoped_lock lock(mutex_);
  return waiting_.size() + in_socket_;
}

StreamBuffer::Taken StreamBuffer::take() {
  const std::scoped_lock lock(mutex_);
  woken_ = false;
  // It counts as being in the socket before it stops being here.
  in_socket_ += waiting_.size();
  return {std::exchange(waiting_, {}), ended_};
}

void StreamBuffer::set_in_socket(std::size_t bytes) {
  std::function<void()> call;
  {
    const std::scoped_lock lock(mutex_);
    in_socket_ = bytes;
    call = due_call();
  }
  if (call) call();
}

void StreamBuffer::peer_left() {
  std::function<void()> call;
  {
    const std::scoped_lock lock(mutex_);
    gone_ = true;
    waiting_ = {};
    in_socket_ = 0;
    call = due_call();
  }
  if (call) call();
}

std::function<void()> StreamBuffer::due_call() {
  if (!has_room_ || (!gone_ && waiting_.size() + in_socket_ > wanted_unsent_)) return {};
  return std::exchange(has_room_, {});
}

void StreamBuffer::when_unsent_below(std::size_t bytes, std::function<void()> call) {
  {
    const std::scoped_lock lock(mutex_);
    wanted_unsent_ = bytes;
    has_room_ = std::move(call);
    call = due_call();
  }
  if (call) call();
}

std::shared_ptr<HttpStream> Exchange::stream(HttpResponse head) {
  auto buffer = std::make_shared<StreamBuffer>();
  if (peer_is_gone()) buffer->peer_left();
  answer({.head = std::move(head), .source = nullptr, .stream = buffer});
  return std::make_shared<Stream>(std::move(buffer), inbox_, connection_);
}

bool Exchange::peer_is_gone() const {
  const std::scoped_lock lock(mutex_);
  return gone_;
}

void Exchange::when_peer_leaves(std::function<void()> call) {
  {
    const std::scoped_lock lock(mutex_);
    if (!gone_) {
      on_leave_ = std::move(call);
      return;
    }
  }
  call();
}

void Exchange::peer_left() {
  std::function<void()> call;
  {
    const std::scoped_lock lock(mutex_);
    gone_ = true;
    call = std::exchange(on_leave_, nullptr);
  }
  if (call) call();
}

void Exchange::answer(Answer answer) {
  if (inbox_->is_here()) {
    const auto connection = connection_.lock();
    if (!connection) return;
    if (connection->is_in_handler()) return connection->keep(std::move(answer));
    if (inbox_->take_turn()) {
      connection->keep(std::move(answer));
      return connection->run();
    }
  }
  inbox_->post([connection = connection_, answer = std::move(answer)]() mutable {
    const auto it = connection.lock();
    if (!it) {
      if (answer.stream) answer.stream->peer_left();
      return;
    }
    it->keep(std::move(answer));
    it->run();
  });
}

}  // namespace drover
