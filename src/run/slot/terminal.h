// A terminal for an item: for somebody who wants to look around where an item runs.
//
// It is made by the process that will become the item, so that it is one of the container's own (`tty` names it, and it
// belongs to the item's user), and its other end is sent through standard input, which is a socket for that. What is in
// the socket by then says how it shall be (terminal_wish.h).
#pragma once

#include <string>

namespace drover::slot {

/// Begins a session with a new terminal, which takes the place of all three standard streams. 0, or an errno. Safe in
/// memory that is shared with the parent.
int take_terminal();

/// Why it could not, for people.
std::string explain_no_terminal(int error);

}  // namespace drover::slot
