#include "cli/item_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/units.h"
#include "cli/object_sources.h"
#include "core/records.h"
#include "ports/descriptor.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReadBytes = std::size_t{1} << 20;
// More than the longest item that will be taken: a line that does not end must not fill the memory.
constexpr std::size_t kMostBuffered = std::size_t{8} << 20;

constexpr int kLookForStopMs = 100;

std::unexpected<Error> interrupted() {
  return fail(ErrorCode::stopped, "interrupted while reading the list: nothing was started",
              "run the same command again");
}

class LineReader {
 public:
  LineReader(const LinesSource& source, const TakeItem& take, const std::stop_token& stop)
      : name_(source.path == "-" ? "standard input" : source.path),
        end_(source.end),
        noun_(source.noun),
        takes_nul_(source.takes_nul),
        take_(take),
        stop_(stop) {}

  Result<void> read_all(int descriptor) {
    buffer_.resize(kReadBytes);
    while (true) {
      if (filled_ == buffer_.size()) {
        if (buffer_.size() >= kMostBuffered) {
          return fail(ErrorCode::bad_input, fmt::format("{}: {} {} is longer than 8 MiB", name_, noun_, taken_),
                      takes_nul_ ? fmt::format("end each {} with a newline", noun_)
                                 : "end each item with a newline, or with a NUL byte and -0");
        }
        buffer_.resize(buffer_.size() * 2);
      }
      if (!wait_for_more(descriptor)) return interrupted();
      const ssize_t got = read(descriptor, buffer_.data() + filled_, buffer_.size() - filled_);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got < 0) return std::unexpected(errno_error(errno, name_, "use a readable file"));
      if (got == 0) return take_last();
      filled_ += static_cast<std::size_t>(got);
      if (auto taken = take_whole_lines(); !taken) return taken;
    }
  }

 private:
  // Somebody may be typing it, or has yet to open the other end. False: it is not wanted any more.
  bool wait_for_more(int descriptor) const {
    pollfd more{descriptor, POLLIN, 0};
    const int wait_ms = stop_.stop_possible() ? kLookForStopMs : -1;
    while (!stop_.stop_requested()) {
      const int ready = poll(&more, 1, wait_ms);
      if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
    }
    return false;
  }

  Result<void> take_whole_lines() {
    std::size_t begin = 0;
    while (begin < filled_) {
      const void* end = std::memchr(buffer_.data() + begin, end_, filled_ - begin);
      if (end == nullptr) break;
      const auto length = static_cast<std::size_t>(static_cast<const char*>(end) - buffer_.data()) - begin;
      if (auto taken = take_one({buffer_.data() + begin, length}); !taken) return taken;
      begin += length + 1;
    }
    std::memmove(buffer_.data(), buffer_.data() + begin, filled_ - begin);
    filled_ -= begin;
    return {};
  }

  Result<void> take_last() {
    if (filled_ == 0) return {};
    return take_one({buffer_.data(), filled_});
  }

  Result<void> take_one(std::string_view item) {
    ++line_;
    if (end_ == '\n') {
      if (line_ == 1) is_crlf_ = item.ends_with('\r');
      if (is_crlf_ && item.ends_with('\r')) item.remove_suffix(1);
      if (item.empty()) return {};
      if (!takes_nul_ && std::memchr(item.data(), '\0', item.size()) != nullptr) {
        return fail(ErrorCode::bad_input,
                    fmt::format("{}: item {} contains a NUL byte, which a command line cannot contain", name_, taken_),
                    "if the list is separated by NUL bytes, add -0");
      }
    }
    ++taken_;
    auto taken = take_(item);
    if (!taken && taken.error().code == ErrorCode::bad_input && end_ == '\n') {
      taken.error().message = fmt::format("{}, line {}: {}", name_, line_, taken.error().message);
    }
    return taken;
  }

  std::string name_;
  char end_;
  std::string_view noun_;
  bool takes_nul_;
  const TakeItem& take_;
  const std::stop_token& stop_;
  std::string buffer_;
  std::size_t filled_ = 0;
  std::uint64_t line_ = 0;
  std::uint64_t taken_ = 0;
  bool is_crlf_ = false;  // lines end as Windows ends them: the carriage return is not part of an item
};

Result<void> read_from(const LinesSource& source, const TakeItem& take, const std::stop_token& stop) {
  const bool standard_input = source.path == "-";
  const int descriptor = standard_input ? STDIN_FILENO : open(source.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return std::unexpected(errno_error(errno, fmt::format("cannot read {}s file {}", source.noun, source.path),
                                       "check the path, or use - to read standard input"));
  }
  auto done = LineReader(source, take, stop).read_all(descriptor);
  if (!standard_input) close(descriptor);
  return done;
}

Result<void> read_from(const WordsSource& source, const TakeItem& take, const std::stop_token& /*stop*/) {
  for (const std::string& word : source.words) {
    if (auto taken = take(word); !taken) return taken;
  }
  return {};
}

// In the order of names within each folder, so that the same tree is the same list.
Result<void> walk(const fs::path& folder, const fs::path& below, const std::string& match, const TakeItem& take) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) entries.push_back(*it);
  if (error) {
    return std::unexpected(errno_error(error.value(), fmt::format("cannot read the folder {}", folder.string()),
                                       "check the path and its permissions"));
  }
  std::ranges::sort(entries, {}, [](const fs::directory_entry& entry) { return entry.path().filename().string(); });
  for (const fs::directory_entry& entry : entries) {
    const fs::path name = entry.path().filename();
    if (entry.is_directory(error) && !entry.is_symlink(error)) {
      if (auto walked = walk(entry.path(), below / name, match, take); !walked) return walked;
      continue;
    }
    if (!entry.is_regular_file(error)) continue;
    if (!match.empty()) {
      const bool whole_path = match.find('/') != std::string::npos;
      const std::string subject = whole_path ? (below / name).string() : name.string();
      if (fnmatch(match.c_str(), subject.c_str(), whole_path ? FNM_PATHNAME : 0) != 0) continue;
    }
    if (auto taken = take(entry.path().string()); !taken) return taken;
  }
  return {};
}

Result<void> read_from(const FolderSource& source, const TakeItem& take, const std::stop_token& /*stop*/) {
  return walk(source.path, {}, source.match, take);
}

/// The lines of an object as it comes, through a pipe: it may be larger than memory.
Result<void> read_lines(const ObjectSource& source, const TakeItem& take, const std::stop_token& stop) {
  auto store = source.opener->open(source.uri);
  if (!store) return pass(store);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::unexpected(errno_error(errno, "cannot make a pipe"));
  Descriptor out(ends[0]);
  Result<void> got;
  std::thread fetcher([&, in = Descriptor(ends[1])]() mutable {
    const std::stop_callback give_up(stop, [&] { (*store)->abort(); });
    auto object = (*store)->get(source.uri.key, {}, [&](std::string_view bytes) -> Result<void> {
      while (!bytes.empty()) {
        const ssize_t done = ::write(in.get(), bytes.data(), bytes.size());
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return fail(ErrorCode::stopped, "the list is not read to its end");
        bytes.remove_prefix(static_cast<std::size_t>(done));
      }
      return {};
    });
    if (!object) got = pass(object);
    in.reset();
  });
  const LinesSource lines{.path = source.uri.text(), .end = source.end};
  auto read = LineReader(lines, take, stop).read_all(out.get());
  out.reset();  // a writer that is left gets an error
  fetcher.join();
  return read ? got : read;
}

Result<void> read_from(const ObjectSource& source, const TakeItem& take, const std::stop_token& stop) {
  const SourceRules rules{.recursive = source.uri.is_prefix()};
  if (!means_several(source.uri, rules)) return read_lines(source, take, stop);
  return each_object(*source.opener, source.uri, rules, stop, [&](const FoundObject& it) -> Result<void> {
    if (it.uri.key.ends_with('/')) return {};  // it marks a directory
    return take(it.uri.text());
  });
}

Result<void> read_from(const RangeSource& source, const TakeItem& take, const std::stop_token& /*stop*/) {
  for (std::int64_t number = source.first; number <= source.last; ++number) {
    if (auto taken = take(std::to_string(number)); !taken) return taken;
  }
  return {};
}

}  // namespace

Result<void> read_items(const ItemSource& source, const TakeItem& take, const std::stop_token& stop) {
  const TakeItem take_unless_stopped = [&](std::string_view item) -> Result<void> {
    if (stop.stop_requested()) return interrupted();
    return take(item);
  };
  return std::visit([&](const auto& it) { return read_from(it, take_unless_stopped, stop); }, source);
}

Result<ItemSource> lines_or_objects(const std::string& path_or_uri, char end) {
  if (!looks_like_object_uri(path_or_uri)) return LinesSource{path_or_uri, end};
  auto uri = parse_object_uri(path_or_uri);
  if (!uri) return pass(uri);
  return ObjectSource{std::move(*uri), end};
}

Result<RangeSource> parse_range(const std::string& text) {
  RangeSource range;
  const char* end = text.data() + text.size();
  const auto [dash, first_error] = std::from_chars(text.data(), end, range.first);
  if (first_error == std::errc{} && dash != end && *dash == '-') {
    const auto [rest, last_error] = std::from_chars(dash + 1, end, range.last);
    if (last_error == std::errc{} && rest == end && range.first >= 0 && range.first <= range.last) {
      if (range.count() <= kMostItems) return range;
      return fail(ErrorCode::bad_input,
                  fmt::format("range '{}' has more than {} items", text, format_count(kMostItems)),
                  "split it into several runs");
    }
  }
  return fail(ErrorCode::bad_input, fmt::format("invalid range '{}'", text),
              "write --range FIRST-LAST, such as 1-1000");
}

}  // namespace drover
