#include "keys/random_text.h"

#include <sys/random.h>

#include <cerrno>

#include "base/check.h"

namespace drover {

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t have = 0; have < count;) {
    const ssize_t got = getrandom(bytes.data() + have, count - have, 0);
    DROVER_CHECK(got >= 0 || errno == EINTR, "the kernel gives no random bytes");
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::string random_text(std::string_view alphabet, std::size_t length) {
  // Bytes beyond the last whole alphabet are thrown away: with them its first letters would come more often.
  const std::size_t bound = 256 - 256 % alphabet.size();
  std::string text;
  while (text.size() < length) {
    for (const char byte : random_bytes(length - text.size())) {
      const auto value = static_cast<unsigned char>(byte);
      if (value < bound) text += alphabet[value % alphabet.size()];
    }
  }
  return text;
}

}  // namespace drover
