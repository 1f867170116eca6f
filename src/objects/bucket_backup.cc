#include "objects/bucket_backup.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/text.h"
#include "base/units.h"
#include "objects/data_files.h"

namespace drover {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kObjects = "objects/";
constexpr std::string_view kIndexName = "objects/index.db";
constexpr std::uint64_t kFilesAtOnce = 1000;

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

/// The number of a file that "objects/00000001/4097" names.
std::optional<std::uint64_t> file_number(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  if (!name.starts_with(kObjects) || slash == std::string_view::npos) return std::nullopt;
  const auto number = parse_number(name.substr(slash + 1));
  if (!number || DataFiles::name_of(*number) != name.substr(kObjects.size())) return std::nullopt;
  return *number;
}

/// Of each file that an object or a part of an upload has.
Result<void> each_file(BucketIndex& index, const std::function<Result<void>(std::uint64_t number)>& take) {
  for (std::uint64_t after = 0;;) {
    auto numbers = index.files_in_use(after, kFilesAtOnce);
    if (!numbers) return pass(numbers);
    if (numbers->empty()) return {};
    after = numbers->back();
    for (const std::uint64_t number : *numbers) {
      if (auto taken = take(number); !taken) return taken;
    }
  }
}

/// What is in a restored index, whose files must all be there.
Result<std::uint64_t> adopt_index(const std::string& path, const std::string& folder, std::int64_t now_ms) {
  auto index = BucketIndex::open_writer(path);
  if (!index) return pass(index);
  if (auto checked = index->check(); !checked) return pass(checked);
  auto all_there = each_file(*index, [&](std::uint64_t number) -> Result<void> {
    if (is_there(concat(folder, "/", DataFiles::name_of(number)))) return {};
    return fail(ErrorCode::damaged, concat("the backup does not contain the object file ", number),
                "use another backup");
  });
  if (!all_there) return pass(all_there);
  if (auto parted = index->part_from_original(now_ms); !parted) return pass(parted);
  return index->count_objects();
}

Result<void> sync_folders(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_directory(error)) continue;
    if (auto synced = sync_folder(it->path()); !synced) return synced;
  }
  if (error) return std::unexpected(errno_error(error.value(), folder));
  return sync_folder(folder);
}

}  // namespace

Result<void> BucketBackup::hold(const std::string& server_folder, const std::string& place) {
  const std::string index_path = concat(server_folder, "/", kIndexName);
  if (!is_there(index_path)) return {};  // a server from before there were buckets
  folder_ = concat(server_folder, "/objects");
  auto lock = SweepLock::keep_files(folder_);
  if (!lock) return pass(lock);
  lock_ = std::move(*lock);
  copy_ = concat(place, "/index.db");
  auto index = BucketIndex::open_reader(index_path);
  if (!index) return pass(index);
  if (auto copied = index->copy_to(copy_); !copied) {
    return fail(copied.error().code, concat(copy_, ": ", copied.error().message),
                "choose a file in a folder with space for a copy of the index of objects");
  }
  auto copy = BucketIndex::open_reader(copy_);
  if (!copy) return pass(copy);
  auto count = copy->count_objects();
  if (!count) return pass(count);
  objects_ = *count;
  return {};
}

Result<void> BucketBackup::add_files(const Add& add) {
  if (folder_.empty()) return {};
  if (auto added = add(copy_, std::string(kIndexName)); !added) return added;
  auto copy = BucketIndex::open_reader(copy_);
  if (!copy) return pass(copy);
  auto done = each_file(*copy, [&](std::uint64_t number) -> Result<void> {
    const std::string name = DataFiles::name_of(number);
    auto added = add(concat(folder_, "/", name), concat(kObjects, name));
    if (added || added.error().code != ErrorCode::not_found) return added;
    return fail(
        ErrorCode::damaged, concat(folder_, "/", name, " is missing, and an object has its bytes in it"),
        "if the server was started by an earlier version, restart it and try again; else restore an older backup");
  });
  lock_.reset();
  return done;
}

bool BucketBackup::owns(std::string_view name) const {
  return name == kIndexName || file_number(name).has_value();
}

Result<void> BucketBackup::make_folder(const std::string& server_folder, std::string_view name) {
  std::error_code error;
  const fs::path folder = fs::path(concat(server_folder, "/", name)).parent_path();
  for (const fs::path& it : {fs::path(concat(server_folder, "/objects")), folder}) {
    if (!fs::create_directory(it, error)) {
      if (error) return std::unexpected(errno_error(error.value(), it.string()));
      continue;
    }
    fs::permissions(it, fs::perms::owner_all, error);
    if (error) return std::unexpected(errno_error(error.value(), it.string()));
  }
  return {};
}

Result<void> BucketBackup::restored(const std::string& server_folder, std::int64_t now_ms) {
  folder_ = concat(server_folder, "/objects");
  const std::string path = concat(server_folder, "/", kIndexName);
  if (!is_there(path)) {
    if (!is_there(folder_)) return {};
    return fail(ErrorCode::damaged, "the backup contains objects without their index", "use another backup");
  }
  auto count = adopt_index(path, folder_, now_ms);
  if (!count) return pass(count);
  objects_ = *count;
  return sync_folders(folder_);
}

}  // namespace drover
