#include "objects/data_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "base/text.h"

namespace drover {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kFilesInFolder = 4096;
constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;

std::string folder_name(std::uint64_t number) {
  char name[20];
  std::snprintf(name, sizeof name, "%08llx", static_cast<unsigned long long>(number / kFilesInFolder));
  return name;
}

Result<void> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), kFolderMode) == 0 || errno == EEXIST) return {};
  return std::unexpected(errno_error(errno, path));
}

Result<void> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return std::unexpected(errno_error(errno, path));
}

std::optional<std::uint64_t> number_of(const std::string& name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

/// Of the files in a folder; none if there is no such folder.
Result<std::vector<std::uint64_t>> numbers_in(const std::string& path) {
  std::vector<std::uint64_t> out;
  std::error_code error;
  fs::directory_iterator it(path, error);
  if (error == std::errc::no_such_file_or_directory) return out;
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (const auto number = number_of(it->path().filename())) out.push_back(*number);
  }
  if (error) return std::unexpected(errno_error(error.value(), path));
  return out;
}

}  // namespace

Result<void> sync_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) != 0) return std::unexpected(errno_error(errno, path));
  return {};
}

Result<void> write_all(int file, std::string_view bytes, std::string_view what) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return std::unexpected(errno_error(errno, what));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<DataFiles> DataFiles::open(std::string folder) {
  if (auto made = make_folder(folder); !made) return pass(made);
  return DataFiles(std::move(folder));
}

std::string DataFiles::folder_of(std::uint64_t number) const {
  return concat(folder_, "/", folder_name(number));
}

std::string DataFiles::name_of(std::uint64_t number) {
  return concat(folder_name(number), "/", number);
}

std::string DataFiles::place(std::uint64_t number) const {
  return concat(folder_, "/", name_of(number));
}

Result<void> DataFiles::prepare(std::uint64_t first, std::uint64_t end) const {
  for (std::uint64_t at = first / kFilesInFolder * kFilesInFolder; at < end; at += kFilesInFolder) {
    if (auto made = make_folder(folder_of(at)); !made) return made;
  }
  return sync_folder(folder_);
}

Result<Descriptor> DataFiles::create(std::uint64_t number) const {
  const std::string path = place(number);
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
  if (!file) return std::unexpected(errno_error(errno, path));
  return file;
}

Result<void> DataFiles::keep(std::uint64_t number, const Descriptor& file) const {
  if (::fdatasync(file.get()) != 0) return std::unexpected(errno_error(errno, place(number)));
  return sync_folder(folder_of(number));
}

Result<Descriptor> DataFiles::read(std::uint64_t number) const {
  const std::string path = place(number);
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    const int error = errno;
    if (error == ENOENT) return fail(ErrorCode::not_found, concat(path, " is missing"));
    return std::unexpected(errno_error(error, path));
  }
  return file;
}

Result<void> DataFiles::remove(std::uint64_t number) const {
  return remove_file(place(number));
}

Result<std::uint64_t> DataFiles::remove_orphans(std::uint64_t first, std::uint64_t end,
                                                const std::function<Result<bool>(std::uint64_t)>& is_known) const {
  std::uint64_t count = 0;
  for (std::uint64_t at = first / kFilesInFolder * kFilesInFolder; at < end; at += kFilesInFolder) {
    auto numbers = numbers_in(folder_of(at));
    if (!numbers) return pass(numbers);
    for (const std::uint64_t number : *numbers) {
      if (number < first) continue;
      auto known = is_known(number);
      if (!known) return pass(known);
      if (*known) continue;
      if (auto removed = remove_file(place(number)); !removed) return pass(removed);
      ++count;
    }
  }
  return count;
}

}  // namespace drover
