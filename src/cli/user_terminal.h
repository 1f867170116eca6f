// The terminal that somebody sits at, joined to another one that an item has: keys go there, what is printed comes
// here, and it is as large there as here.
#pragma once

#include <poll.h>
#include <termios.h>

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "ports/descriptor.h"
#include "run/terminal_wish.h"

namespace drover {

class UserTerminal {
 public:
  using Resize = std::function<void(const winsize&)>;

  /// Of this process's standard streams, which are a terminal.
  static Result<std::unique_ptr<UserTerminal>> open();
  /// As it was before.
  ~UserTerminal();
  UserTerminal(const UserTerminal&) = delete;
  UserTerminal& operator=(const UserTerminal&) = delete;

  /// A socket for the item that is to have a terminal: the other end of that comes back through it.
  Result<Descriptor> socket_for_item();
  /// Keys go to the far end from now on. `resize` tells it of the size; a terminal's own end knows how by itself.
  void join(Descriptor far_end, Resize resize = nullptr);
  bool is_joined() const { return static_cast<bool>(far_end_); }

  /// What to wait for; to be given back to on_ready() as poll() left them.
  using Waits = std::array<pollfd, 3>;
  Waits waits() const;
  void on_ready(const Waits& waits);
  /// The window has another size, or the terminal was somebody else's for a while.
  void refresh();
  /// The far end prints no more.
  bool is_over() const { return is_over_; }
  /// Nobody sits there any more.
  bool is_left() const { return is_left_; }

  /// Nobody is left at the far end: what was printed last.
  void drain();

 private:
  UserTerminal() = default;

  void receive_far_end();
  void take_keys();
  void send_keys();
  bool print_some();
  void tell_size();
  void restore();

  TerminalWish before_;
  Descriptor near_end_;  // of the socket
  Descriptor far_end_;
  Resize resize_;
  std::string unsent_;  // keys
  bool is_over_ = false;
  bool is_left_ = false;
  bool is_raw_ = false;
};

}  // namespace drover
