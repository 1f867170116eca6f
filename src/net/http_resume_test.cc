// A handler that answers later continues on the thread of its connection.
#include <future>
#include <thread>

#include "net/server_fixture.h"

namespace drover {
namespace {

class HttpResumeTest : public ServerTest {
 protected:
  RawPeer waiting_peer() {
    RawPeer peer = connect();
    EXPECT_TRUE(peer.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n"));
    return peer;
  }
};

TEST_F(HttpResumeTest, WorkIsDoneOnTheThreadThatCalledTheHandler) {
  std::promise<std::thread::id> handled;
  handler_.on_request = [&](const HttpRequest&, HttpReply reply) {
    handled.set_value(std::this_thread::get_id());
    handler_.later.keep(std::move(reply));
  };
  start();
  RawPeer peer = waiting_peer();
  const auto reply = std::make_shared<HttpReply>(handler_.later.next());
  std::promise<std::thread::id> resumed;
  resume_of(reply)([&, reply] {
    resumed.set_value(std::this_thread::get_id());
    reply->send(text_response("done"));
  });
  EXPECT_EQ(peer.read_response().body, "done");
  EXPECT_EQ(resumed.get_future().get(), handled.get_future().get());
}

TEST_F(HttpResumeTest, WorkForAPeerThatHasLeftIsDoneAsWell) {
  start();
  std::promise<void> left;
  {
    const RawPeer peer = waiting_peer();
    handler_.later.wait_for(1);
  }
  const auto reply = std::make_shared<HttpReply>(handler_.later.next());
  reply->when_peer_leaves([&] { left.set_value(); });
  left.get_future().wait();
  std::promise<bool> is_gone;
  resume_of(reply)([&, reply] {
    is_gone.set_value(reply->peer_is_gone());
    reply->send(text_response("nobody reads this"));
  });
  EXPECT_TRUE(is_gone.get_future().get());
  expect_well();
}

TEST_F(HttpResumeTest, WorkAfterTheServerHasStoppedIsDropped) {
  start();
  RawPeer peer = waiting_peer();
  const auto reply = std::make_shared<HttpReply>(handler_.later.next());
  server_.reset();
  reply->resume([] { FAIL() << "there is no such thread any more"; });
}

}  // namespace
}  // namespace drover
