#include "server/reach.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/text.h"

namespace drover {
namespace {

constexpr std::string_view kEveryIpv4 = "0.0.0.0";
constexpr std::string_view kEveryAddress = "::";

std::string host_of(std::string_view address) {
  std::string_view host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::string(host);
}

std::string_view port_of(std::string_view address) {
  return address.substr(address.rfind(':') + 1);
}

bool is_every(std::string_view host) {
  return host == kEveryIpv4 || host == kEveryAddress;
}

std::string join_host(std::string_view host, std::string_view port) {
  return host.contains(':') ? concat("[", host, "]:", port) : concat(host, ":", port);
}

std::optional<std::string> text_of(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address != nullptr && address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
    return text;
  }
  if (address != nullptr && address->sa_family == AF_INET6) {
    const in6_addr& it = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (IN6_IS_ADDR_LINKLOCAL(&it)) return std::nullopt;
    inet_ntop(AF_INET6, &it, text, sizeof text);
    return text;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> Reach::certificate_names(const std::vector<std::string>& listen,
                                                  const std::vector<std::string>& advertise) const {
  std::vector<std::string> names = {"localhost", "127.0.0.1", "::1"};
  for (const std::string& address : listen) {
    if (address.starts_with("unix:")) continue;
    const std::string host = host_of(address);
    if (is_every(host)) {
      names.insert(names.end(), machine.begin(), machine.end());
      if (!name.empty()) names.push_back(name);
    } else {
      names.push_back(host);
    }
  }
  for (const std::string& it : advertise) names.push_back(host_of(it + (it.contains(':') ? "" : ":0")));
  return names;
}

std::vector<std::string> Reach::from_elsewhere(std::string_view listening) const {
  const std::string host = host_of(listening);
  std::vector<std::string> addresses;
  if (!is_every(host)) return {std::string(listening)};
  for (const std::string& it : machine) {
    if (host == kEveryAddress || !it.contains(':')) addresses.push_back(join_host(it, port_of(listening)));
  }
  // A machine without a network has only itself.
  if (addresses.empty()) addresses.push_back(from_here(listening));
  return addresses;
}

std::string Reach::from_here(std::string_view listening) {
  const std::string host = host_of(listening);
  if (!is_every(host)) return std::string(listening);
  return join_host(host == kEveryIpv4 ? "127.0.0.1" : "::1", port_of(listening));
}

std::vector<std::string> machine_addresses() {
  std::vector<std::string> found;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return found;
  for (const ifaddrs* it = first; it != nullptr; it = it->ifa_next) {
    if ((it->ifa_flags & IFF_UP) == 0 || (it->ifa_flags & IFF_LOOPBACK) != 0) continue;
    if (auto text = text_of(it->ifa_addr); text && std::ranges::find(found, *text) == found.end())
      found.push_back(*text);
  }
  freeifaddrs(first);
  return found;
}

std::string machine_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return {};
  const std::string_view text = name;
  const bool is_plain =
      std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.'; });
  return is_plain ? std::string(text) : std::string();
}

bool is_local_address(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("[::1]") || address.starts_with("localhost:") ||
         address.starts_with("unix:");
}

}  // namespace drover
