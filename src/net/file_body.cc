#include "net/file_body.h"

#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace drover {
namespace {

constexpr std::uint64_t kMostSentAtOnce = std::uint64_t{4} << 20;
constexpr std::uint64_t kMostSentFromMemory = std::uint64_t{2} << 20;
constexpr std::uint64_t kBetweenProbes = std::uint64_t{128} << 10;
constexpr std::uint64_t kPieceRead = std::uint64_t{256} << 10;

/// Turns to the first part that is not at its end; at the very end there is none.
Result<void> skip_ended(HttpFilePart& part) {
  while (part.size == 0 && part.size_behind > 0) {
    auto next = part.next();
    if (!next) return pass(next);
    if (next->size + next->size_behind != part.size_behind) {
      return fail(ErrorCode::damaged, "the parts of a body are not as long as was said");
    }
    part = std::move(*next);
  }
  return {};
}

/// Whether a byte of a file can be read without waiting for its disk.
bool is_in_memory(int file, std::uint64_t offset) {
  char byte = 0;
  const iovec into{.iov_base = &byte, .iov_len = 1};
  return ::preadv2(file, &into, 1, static_cast<off_t>(offset), RWF_NOWAIT) == 1;
}

/// Of the part's first bytes, about: the page cache gets and loses its pages in runs, so some of them are looked at. A
/// file system that cannot say counts as a disk.
bool is_in_memory(const HttpFilePart& part, std::uint64_t bytes) {
  const std::uint64_t end = part.offset + bytes;
  for (std::uint64_t at = part.offset; at < end; at += kBetweenProbes) {
    if (!is_in_memory(part.file.get(), at)) return false;
  }
  return is_in_memory(part.file.get(), end - 1);
}

class FileSource : public HttpBodySource {
 public:
  explicit FileSource(HttpFilePart part) : part_(std::move(part)) {}

  Result<std::string> next() override {
    if (auto turned = skip_ended(part_); !turned) return pass(turned);
    std::string piece(std::min(part_.size, kPieceRead), '\0');
    std::size_t filled = 0;
    while (filled < piece.size()) {
      const ssize_t got = ::pread(part_.file.get(), piece.data() + filled, piece.size() - filled,
                                  static_cast<off_t>(part_.offset + filled));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return std::unexpected(errno_error(errno, "a file that is being sent"));
      if (got == 0) return fail(ErrorCode::damaged, "a file that is being sent has become shorter");
      filled += static_cast<std::size_t>(got);
    }
    part_.offset += filled;
    part_.size -= filled;
    return piece;
  }

 private:
  HttpFilePart part_;
};

FileSent send(int socket, HttpFilePart& part, std::uint64_t left) {
  while (left > 0) {
    auto offset = static_cast<off_t>(part.offset);
    const ssize_t sent = ::sendfile(socket, part.file.get(), &offset, left);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return FileSent::socket_full;
    if (sent < 0) return errno == EINVAL || errno == ENOSYS ? FileSent::cannot_be_sent : FileSent::failed;
    if (sent == 0) return FileSent::failed;
    part.offset += static_cast<std::uint64_t>(sent);
    part.size -= static_cast<std::uint64_t>(sent);
    left -= static_cast<std::uint64_t>(sent);
  }
  return FileSent::some;
}

}  // namespace

FileSent send_file_part(int socket, HttpFilePart& part) {
  if (!skip_ended(part)) return FileSent::failed;
  return send(socket, part, std::min(part.size, kMostSentAtOnce));
}

FileSent send_cached_part(int socket, HttpFilePart& part) {
  const std::uint64_t bytes = std::min(part.size, kMostSentFromMemory);
  // The part behind an ended one has to be opened.
  if (bytes == 0 || !is_in_memory(part, bytes)) return FileSent::not_in_memory;
  return send(socket, part, bytes);
}

std::unique_ptr<HttpBodySource> read_file_part(HttpFilePart part) {
  return std::make_unique<FileSource>(std::move(part));
}

}  // namespace drover
