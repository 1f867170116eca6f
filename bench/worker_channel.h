// The calls of a worker over a connection of its own.
#pragma once

#include <optional>
#include <string>

#include "base/text.h"
#include "http_channel.h"

namespace drover {

class WorkerChannel {
 public:
  explicit WorkerChannel(const ServerPlace& place) : channel_(place), key_(place.key) {}

  int socket() const { return channel_.socket(); }
  void send(const std::string& call, const std::string& body) {
    channel_.send(concat("POST /worker/v1/", call, " HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ", key_,
                         "\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
  }
  std::optional<std::string_view> receive() { return channel_.receive(); }

 private:
  HttpChannel channel_;
  const std::string key_;
};

}  // namespace drover
