// A body that is a part of a file: sent by the kernel where nothing is encrypted, else read piece by piece. Both may
// wait for a disk, so they happen on the pool's threads, except that bytes which are in the page cache are sent by the
// I/O thread itself: at several GiB/s, handing each piece to another thread and back costs as much as sending it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ports/http.h"

namespace drover {

enum class FileSent : std::uint8_t {
  some,            // or all
  socket_full,     // after what was sent
  not_in_memory,   // nothing was sent
  cannot_be_sent,  // by the kernel, from this file: it has to be read
  failed,          // the file ended too soon, or one of the two cannot be used
};

/// Moves bytes of the part to the socket, which does not block, and shortens the part by them. Not all at once, so that
/// other connections have their turns.
FileSent send_file_part(int socket, HttpFilePart& part);

/// As above, but never waits for a disk: bytes that would have to be read first are `not_in_memory`.
FileSent send_cached_part(int socket, HttpFilePart& part);

/// The part's bytes, to be encrypted.
std::unique_ptr<HttpBodySource> read_file_part(HttpFilePart part);

}  // namespace drover
