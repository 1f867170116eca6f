// How a terminal that is made for an item shall be: sent into the socket that its other end comes back through, before
// the item is started, so that it never sees another.
#pragma once

#include <sys/ioctl.h>
#include <termios.h>

namespace drover {

struct TerminalWish {
  winsize size{};
  termios modes{};
};

}  // namespace drover
