#include "wire/capabilities.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace drover {
namespace {

constexpr std::string_view kPrefix = "CAP_";

// The place of each is its number.
constexpr std::array<std::string_view, 41> kNames = {"CHOWN",
                                                     "DAC_OVERRIDE",
                                                     "DAC_READ_SEARCH",
                                                     "FOWNER",
                                                     "FSETID",
                                                     "KILL",
                                                     "SETGID",
                                                     "SETUID",
                                                     "SETPCAP",
                                                     "LINUX_IMMUTABLE",
                                                     "NET_BIND_SERVICE",
                                                     "NET_BROADCAST",
                                                     "NET_ADMIN",
                                                     "NET_RAW",
                                                     "IPC_LOCK",
                                                     "IPC_OWNER",
                                                     "SYS_MODULE",
                                                     "SYS_RAWIO",
                                                     "SYS_CHROOT",
                                                     "SYS_PTRACE",
                                                     "SYS_PACCT",
                                                     "SYS_ADMIN",
                                                     "SYS_BOOT",
                                                     "SYS_NICE",
                                                     "SYS_RESOURCE",
                                                     "SYS_TIME",
                                                     "SYS_TTY_CONFIG",
                                                     "MKNOD",
                                                     "LEASE",
                                                     "AUDIT_WRITE",
                                                     "AUDIT_CONTROL",
                                                     "SETFCAP",
                                                     "MAC_OVERRIDE",
                                                     "MAC_ADMIN",
                                                     "SYSLOG",
                                                     "WAKE_ALARM",
                                                     "BLOCK_SUSPEND",
                                                     "AUDIT_READ",
                                                     "PERFMON",
                                                     "BPF",
                                                     "CHECKPOINT_RESTORE"};

// What programs that expect to be root need, and no other container is hurt by: Docker's, less NET_RAW. With the
// machine's network, which is the default here, a raw socket reads everybody's packets, keys in them included.
constexpr std::array<std::string_view, 13> kUsual = {
    "CHOWN",   "DAC_OVERRIDE", "FSETID",           "FOWNER",     "MKNOD", "SETGID",     "SETUID",
    "SETFCAP", "SETPCAP",      "NET_BIND_SERVICE", "SYS_CHROOT", "KILL",  "AUDIT_WRITE"};

constexpr CapabilityMask kAll = (CapabilityMask{1} << kNames.size()) - 1;

std::string in_capitals(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

Result<CapabilityMask> all_of(const std::vector<std::string>& names) {
  CapabilityMask mask = 0;
  for (const std::string& name : names) {
    const auto bit = capability_named(name);
    if (!bit) {
      return fail(ErrorCode::bad_input, concat("unknown capability '", name, "'"),
                  "use a name from capabilities(7), for example SYS_PTRACE");
    }
    mask |= *bit;
  }
  return mask;
}

}  // namespace

std::optional<CapabilityMask> capability_named(std::string_view name) {
  std::string wanted = in_capitals(name);
  if (wanted == "ALL") return kAll;
  if (wanted.starts_with(kPrefix)) wanted.erase(0, kPrefix.size());
  const auto found = std::ranges::find(kNames, wanted);
  if (found == kNames.end()) return std::nullopt;
  return CapabilityMask{1} << (found - kNames.begin());
}

Result<CapabilityMask> capabilities_of(const ContainerOptions& options) {
  auto added = all_of(options.add_capabilities);
  if (!added) return pass(added);
  auto dropped = all_of(options.drop_capabilities);
  if (!dropped) return pass(dropped);
  if (options.privileged) return kAll;
  CapabilityMask mask = 0;
  for (const std::string_view name : kUsual) mask |= capability_named(name).value_or(0);
  return (mask & ~*dropped) | *added;
}

std::vector<std::string> capability_names(CapabilityMask mask) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if ((mask >> i & 1) != 0) names.push_back(concat(kPrefix, kNames[i]));
  }
  return names;
}

}  // namespace drover
