#include "cli/job_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/units.h"

namespace drover {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{64} << 20;

/// `what` is in it, and `smaller` says how to keep it small.
Result<std::string> read_text(const std::string& path, std::string_view what, const char* smaller) {
  const bool standard_input = path == "-";
  const int descriptor = standard_input ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return std::unexpected(errno_error(errno, fmt::format("cannot read {} file {}", what, path), "check the path"));
  }
  std::string text;
  ssize_t got = 1;
  while (got > 0 && text.size() <= kMostFileBytes) {
    const std::size_t filled = text.size();
    text.resize(filled + (std::size_t{64} << 10));
    do {
      got = read(descriptor, text.data() + filled, text.size() - filled);
    } while (got < 0 && errno == EINTR);
    const int reason = errno;
    text.resize(filled + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0) {
      if (!standard_input) close(descriptor);
      return std::unexpected(errno_error(reason, fmt::format("cannot read {} file {}", what, path), "check the path"));
    }
  }
  if (!standard_input) close(descriptor);
  if (text.size() > kMostFileBytes) {
    return fail(ErrorCode::bad_input,
                fmt::format("{} file {} is larger than {}", what, path, format_size(kMostFileBytes)), smaller);
  }
  return text;
}

}  // namespace

Result<std::string> read_job_text(const std::string& path) {
  return read_text(path, "job", "put the items in a separate file and refer to it with 'items_file: list.txt'");
}

Result<std::string> read_fleet_text(const std::string& path) {
  return read_text(path, "fleet", "check the path: a fleet has about 20 settings");
}

std::string absolute_path(const fs::path& path) {
  std::error_code error;
  std::string out = fs::absolute(path, error).lexically_normal();
  if (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

}  // namespace drover
