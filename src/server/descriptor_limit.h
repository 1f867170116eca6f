// How many files and sockets the server may have open, and how many of them strangers may use up.
#pragma once

#include <cstddef>

namespace drover {

/// Raises the process's limit as far as it may go, and gives how many connections leave enough for the ledger, the logs
/// and those who read them: without a descriptor for those the server would be lost.
std::size_t connections_within_descriptors();

}  // namespace drover
