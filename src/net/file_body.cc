#include "net/file_body.h"

#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace drover {
namespace {

constexpr std::uint64_t kMostSentAtOnce = std::uint64_t{4} << 20;
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

}  // namespace

FileSent send_file_part(int socket, HttpFilePart& part) {
  if (!skip_ended(part)) return FileSent::failed;
  std::uint64_t left = std::min(part.size, kMostSentAtOnce);
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

std::unique_ptr<HttpBodySource> read_file_part(HttpFilePart part) {
  return std::make_unique<FileSource>(std::move(part));
}

}  // namespace drover
