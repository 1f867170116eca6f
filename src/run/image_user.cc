#include "run/image_user.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "host/system_files.h"
#include "ports/descriptor.h"

namespace drover {
namespace {

// The largest number means nobody to the kernel, and runtimes take others above this for root.
constexpr std::uint32_t kLastId = 0x7fffffff;
constexpr std::size_t kMostBytes = std::size_t{8} << 20;

/// The file as the image has it: the uppermost layer that says anything of it counts. Links are followed within a
/// layer. Only regular files are opened: opening a device or a pipe can have effects of its own, and we may be root.
std::string read_from(const std::vector<std::string>& layers, const char* path) {
  for (const std::string& layer : layers) {
    const Descriptor folder(::open(layer.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    int found = -1;
    do found = static_cast<int>(::syscall(SYS_openat2, folder.get(), path, &how, sizeof(how)));
    while (found < 0 && (errno == EAGAIN || errno == EINTR));
    const Descriptor place(found);
    struct stat info{};
    if (!place || ::fstat(place.get(), &info) != 0) {
      struct stat whiteout{};
      if (::fstatat(folder.get(), path, &whiteout, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(whiteout.st_mode)) return {};
      continue;
    }
    if (!S_ISREG(info.st_mode)) return {};
    // The same file that was looked at, whatever has that name by now.
    const Descriptor file(::open(concat("/proc/self/fd/", place.get()).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return {};
    std::string text(std::min(static_cast<std::size_t>(info.st_size), kMostBytes), '\0');
    const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }
  return {};
}

}  // namespace

Result<ImageUser> find_image_user(const std::string& wanted, const std::vector<std::string>& layers) {
  const std::size_t colon = wanted.find(':');
  const std::string name = wanted.substr(0, colon);
  const std::string group = colon == std::string::npos ? std::string() : wanted.substr(colon + 1);
  ImageUser found;
  const auto number = whole_number(name);
  found.user = number.value_or(0);
  std::string known_as = name;
  bool is_known = number.has_value() || name.empty();
  for (const std::string& line : split_fields(read_from(layers, "etc/passwd"), '\n')) {
    const auto fields = split_fields(line, ':');
    if (fields.size() < 6) continue;
    const auto user = whole_number(fields[2]);
    const bool is_meant = number || name.empty() ? user == found.user : fields[0] == name;
    if (!is_meant || !user) continue;
    found.user = *user;
    found.group = whole_number(fields[3]).value_or(0);
    found.home = fields[5].empty() ? "/" : fields[5];
    known_as = fields[0];
    is_known = true;
    break;
  }
  if (!is_known) {
    return fail(ErrorCode::bad_input, concat("the image has no user '", name, "'"),
                "use a name from its /etc/passwd, or numbers: --user 1000:1000");
  }
  const std::string groups = group.empty() && name.empty() ? std::string() : read_from(layers, "etc/group");
  bool has_group = group.empty();
  if (const auto id = whole_number(group)) {
    found.group = *id;
    has_group = true;
  }
  for (const std::string& line : split_fields(groups, '\n')) {
    const auto fields = split_fields(line, ':');
    if (fields.size() < 3) continue;
    const auto id = whole_number(fields[2]);
    if (!id) continue;
    if (!has_group && fields[0] == group) {
      found.group = *id;
      has_group = true;
    }
    const auto members = split_fields(fields.size() > 3 ? fields[3] : std::string(), ',');
    if (group.empty() && std::ranges::find(members, known_as) != members.end()) found.groups.push_back(*id);
  }
  for (const std::uint32_t id : {found.user, found.group}) {
    if (id > kLastId) {
      return fail(ErrorCode::bad_input,
                  concat("a container cannot run as ", id, ": the highest user or group id is ", kLastId),
                  "use a lower id with --user");
    }
  }
  std::erase_if(found.groups, [](std::uint32_t id) { return id > kLastId; });
  if (!has_group) {
    return fail(ErrorCode::bad_input, concat("the image has no group '", group, "'"),
                "use a name from its /etc/group, or a number");
  }
  return found;
}

}  // namespace drover
