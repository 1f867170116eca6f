// A door that peers come in through: an address, and what accepts there.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/connection.h"

namespace drover {

class Listener {
 public:
  /// "127.0.0.1:8750", "[::1]:0", ":8750" (every IPv4 address), "unix:/path/to.sock".
  static Result<std::unique_ptr<Listener>> open(boost::asio::io_context& context, const std::string& address);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// As it was asked for, with the port it got.
  const std::string& address() const { return address_; }
  bool is_local() const { return !path_.empty(); }

  /// Gets a socket that does not block, and who is at its other end.
  using Accepted = std::function<void(int socket, std::string peer)>;
  /// On the context's thread, as everything below.
  void accept(Accepted accepted);
  void close();

 private:
  Listener(boost::asio::io_context& context, int socket) : socket_(context, socket), pause_(context) {}
  void wait();
  void accept_all();

  Socket socket_;
  boost::asio::steady_timer pause_;
  std::string address_;
  std::string path_;  // of a Unix socket
  Accepted accepted_;
};

}  // namespace drover
