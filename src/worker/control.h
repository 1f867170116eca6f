// The control socket of a run's folder: whoever holds the folder answers on it. One JSON object per line and
// connection, one answer.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "worker/event_loop.h"

namespace drover {

class ControlServer {
 public:
  using Answer = std::function<void(boost::json::object)>;
  /// Answers a request, now or later, on the loop's thread.
  using Handler = std::function<void(const boost::json::object& request, Answer answer)>;

  static Result<std::unique_ptr<ControlServer>> listen(EventLoop& loop, const std::string& folder, Handler handler);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

 private:
  ControlServer(EventLoop& loop, int listener, std::string path, Handler handler);
  void accept_one();
  void read_from(int connection);
  void drop(int connection);

  EventLoop& loop_;
  int listener_;
  std::string path_;
  Handler handler_;
  std::map<int, std::string> partial_;  // per connection, what has come of its line
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// Asks the process that holds the folder. `not_found`: nobody listens.
Result<boost::json::object> ask_holder(const std::string& folder, const boost::json::object& request);

}  // namespace drover
