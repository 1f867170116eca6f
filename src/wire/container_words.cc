#include "wire/container_words.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "base/name.h"
#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

struct UlimitName {
  std::string_view name;
  int number;
};
constexpr UlimitName kUlimits[] = {
    {"as", RLIMIT_AS},           {"core", RLIMIT_CORE},         {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},       {"fsize", RLIMIT_FSIZE},       {"locks", RLIMIT_LOCKS},
    {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE}, {"nice", RLIMIT_NICE},
    {"nofile", RLIMIT_NOFILE},   {"nproc", RLIMIT_NPROC},       {"rss", RLIMIT_RSS},
    {"rtprio", RLIMIT_RTPRIO},   {"rttime", RLIMIT_RTTIME},     {"sigpending", RLIMIT_SIGPENDING},
    {"stack", RLIMIT_STACK}};

// The runtime is held to them as well, before it becomes the item: with less it ends in the middle of its own work.
struct LeastUlimit {
  std::string_view name;
  std::uint64_t value;
};
constexpr LeastUlimit kLeastUlimits[] = {{"as", 16 << 20},    {"cpu", 1},     {"data", 8 << 20},
                                         {"fsize", 64 << 10}, {"nofile", 64}, {"stack", 64 << 10}};

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ':') {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  return parts;
}

/// Without what means nothing: "/a//b/" is "/a/b". Empty: it leads out of the container, or is no absolute path.
std::string place_inside(std::string_view path) {
  if (!path.starts_with('/')) return {};
  std::string out;
  while (!path.empty()) {
    const std::size_t from = std::min(path.find_first_not_of('/'), path.size());
    path.remove_prefix(from);
    const std::string_view name = path.substr(0, path.find('/'));
    if (name == "..") return {};
    if (!name.empty() && name != ".") out += concat("/", name);
    path.remove_prefix(name.size());
  }
  return out.empty() ? "/" : out;
}

/// Elsewhere the image may have a file of that name already, and a runtime leaves that without a word. In /dev there is
/// nothing but what is mounted there.
bool is_place_of_device(std::string_view path) {
  constexpr std::string_view kDevices = "/dev/";
  if (!path.starts_with(kDevices)) return false;
  const std::string_view first = path.substr(kDevices.size(), path.find('/', kDevices.size()) - kDevices.size());
  return first != "shm" && first != "pts" && first != "mqueue";
}

std::unexpected<Error> bad(std::string what, std::string next) {
  return fail(ErrorCode::bad_input, std::move(what), std::move(next));
}

std::optional<std::uint64_t> limit_in(std::string_view text) {
  if (text == "unlimited" || text == "-1") return std::numeric_limits<std::uint64_t>::max();
  const auto number = parse_number(text);
  return number ? std::optional(*number) : std::nullopt;
}

std::string limit_to_text(std::uint64_t value) {
  return value == std::numeric_limits<std::uint64_t>::max() ? "unlimited" : std::to_string(value);
}

}  // namespace

std::optional<int> ulimit_number(std::string_view name) {
  const auto* known = std::ranges::find(kUlimits, name, &UlimitName::name);
  return known == std::end(kUlimits) ? std::nullopt : std::optional(known->number);
}

Result<ContainerMount> mount_from_text(std::string_view text) {
  constexpr const char* kNext = "write SOURCE:TARGET, or SOURCE:TARGET:ro, for example /data:/in:ro";
  const auto parts = parts_of(text);
  if (parts.size() < 2 || parts.size() > 3) return bad("is not a source and a target separated by ':'", kNext);
  ContainerMount mount{parts[0], place_inside(parts[1]), false};
  const bool is_path = mount.source.starts_with('/');
  if (!is_path && !is_valid_name(mount.source)) {
    return bad(concat("has the source '", mount.source, "', which is neither an absolute path nor a volume name"),
               mount.source.starts_with('.') ? "write the absolute path: $PWD/…" : kNext);
  }
  if (mount.target.empty()) return bad(concat("has the target '", parts[1], "', which is not an absolute path"), kNext);
  if (mount.target == "/") return bad("would hide the whole image", "mount it on a directory, for example /data");
  if (parts.size() == 3) {
    for (std::string_view rest = parts[2]; !rest.empty();) {
      const std::string_view word = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      if (word != "ro" && word != "rw" && word != "create") {
        return bad(concat("ends with '", parts[2], "', not with ro, rw or create"), kNext);
      }
      if (word == "create") {
        mount.create = true;
      } else {
        mount.read_only = word == "ro";
      }
    }
    if (parts[2].empty() || parts[2].ends_with(',')) {
      return bad(concat("ends with '", parts[2], "', not with ro, rw or create"), kNext);
    }
  }
  return mount;
}

std::string mount_to_text(const ContainerMount& mount) {
  const char* options = mount.read_only ? (mount.create ? ":ro,create" : ":ro") : (mount.create ? ":create" : "");
  return concat(mount.source, ":", mount.target, options);
}

Result<ContainerTmpfs> tmpfs_from_text(std::string_view text) {
  constexpr const char* kNext = "write TARGET, or TARGET:SIZE, for example /scratch:1GiB";
  const auto parts = parts_of(text);
  ContainerTmpfs tmpfs{place_inside(parts[0]), 0};
  if (tmpfs.target.empty() || tmpfs.target == "/") return bad("is not an absolute path inside the container", kNext);
  if (parts.size() > 2) return bad("has too many parts", kNext);
  if (parts.size() == 2) {
    const auto size = parse_size(parts[1]);
    if (!size || *size == 0) return bad(concat("has the invalid size '", parts[1], "'"), kNext);
    tmpfs.size_bytes = *size;
  }
  return tmpfs;
}

std::string tmpfs_to_text(const ContainerTmpfs& tmpfs) {
  return tmpfs.size_bytes == 0 ? tmpfs.target : concat(tmpfs.target, ":", tmpfs.size_bytes, "B");
}

Result<ContainerDevice> device_from_text(std::string_view text) {
  constexpr const char* kNext = "write PATH, PATH:INSIDE or PATH:INSIDE:ACCESS, for example /dev/fuse:/dev/fuse:rwm";
  const auto parts = parts_of(text);
  if (parts.size() > 3) return bad("has too many parts", kNext);
  ContainerDevice device{place_inside(parts[0]), place_inside(parts.size() > 1 ? parts[1] : parts[0]), "rwm"};
  if (device.host.empty() || device.inside.empty()) return bad("is not an absolute path", kNext);
  if (!is_place_of_device(device.inside)) {
    return bad(concat("has the path '", device.inside, "' inside the container, but devices must be in /dev"),
               concat("give it a name in /dev: ", device.host, ":/dev/NAME"));
  }
  if (parts.size() == 3) {
    device.access = parts[2];
    if (device.access.empty() || device.access.find_first_not_of("rwm") != std::string::npos) {
      return bad(concat("allows '", parts[2], "', but access must be a combination of r, w and m"), kNext);
    }
  }
  return device;
}

std::string device_to_text(const ContainerDevice& device) {
  return concat(device.host, ":", device.inside, ":", device.access);
}

Result<ContainerUlimit> ulimit_from_text(std::string_view text) {
  constexpr const char* kNext = "write NAME=SOFT or NAME=SOFT:HARD, for example nofile=1024:4096";
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return bad("has no '='", kNext);
  ContainerUlimit limit{std::string(text.substr(0, equals)), 0, 0};
  if (!ulimit_number(limit.name)) {
    return bad(concat("has the unknown limit '", limit.name, "'"),
               "limits are, for example, nofile, nproc, memlock, stack and core");
  }
  const auto parts = parts_of(text.substr(equals + 1));
  const auto soft = limit_in(parts[0]);
  const auto hard = parts.size() > 1 ? limit_in(parts[1]) : soft;
  if (!soft || !hard || parts.size() > 2) return bad("has an invalid value", kNext);
  if (*soft > *hard) return bad(concat("has a soft limit above its hard limit of ", *hard), kNext);
  const auto* least = std::ranges::find(kLeastUlimits, limit.name, &LeastUlimit::name);
  if (least != std::end(kLeastUlimits) && *soft < least->value) {
    return bad("is too low for a container to start",
               concat("write ", limit.name, "=", least->value, " or more, and lower it inside: sh -c 'ulimit …'"));
  }
  limit.soft = *soft;
  limit.hard = *hard;
  return limit;
}

std::string ulimit_to_text(const ContainerUlimit& limit) {
  return concat(limit.name, "=", limit_to_text(limit.soft), ":", limit_to_text(limit.hard));
}

}  // namespace drover
