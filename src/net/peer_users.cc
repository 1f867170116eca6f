#include "net/peer_users.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace drover {
namespace {

using Address = std::array<unsigned char, 16>;  // IPv4 as ::ffff:a.b.c.d
struct End {
  Address address{};
  int port = 0;
  bool operator==(const End&) const = default;
};

constexpr std::size_t kMappedAt = 12;
constexpr int kListening = 10;

Address mapped(const void* ipv4) {
  Address out{};
  out[10] = out[11] = 0xff;
  std::memcpy(out.data() + kMappedAt, ipv4, 4);
  return out;
}

std::optional<Address> parse_ip(const std::string& text) {
  in_addr four{};
  if (inet_pton(AF_INET, text.c_str(), &four) == 1) return mapped(&four);
  Address six{};
  const std::string plain = text.substr(0, text.find('%'));
  if (inet_pton(AF_INET6, plain.c_str(), six.data()) == 1) return six;
  return std::nullopt;
}

std::optional<std::uint32_t> parse_hex(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// "0100007F:222E": words of memory as numbers, and a port.
std::optional<End> parse_end(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon != 8 && colon != 32) return std::nullopt;
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i * 8 < colon; ++i) {
    const auto word = parse_hex(text.substr(i * 8, 8));
    if (!word) return std::nullopt;
    words[i] = *word;
  }
  const auto port = parse_hex(text.substr(colon + 1));
  if (!port) return std::nullopt;
  End end{.address = {}, .port = static_cast<int>(*port)};
  if (colon == 8) {
    end.address = mapped(words.data());
  } else {
    std::memcpy(end.address.data(), words.data(), end.address.size());
  }
  return end;
}

/// 0.0.0.0 takes IPv4 alone; :: may take both.
bool takes(const End& listener, const End& wanted) {
  if (listener.port != wanted.port) return false;
  const std::uint32_t none = 0;
  const bool is_ipv4 = std::equal(wanted.address.begin(), wanted.address.begin() + kMappedAt, mapped(&none).begin());
  return listener.address == wanted.address || listener.address == Address{} ||
         (is_ipv4 && listener.address == mapped(&none));
}

}  // namespace

std::set<uid_t> users_behind(const TcpEnds& ends, std::string_view table) {
  std::set<uid_t> users;
  const auto peer_ip = parse_ip(ends.peer_ip);
  const auto own_ip = parse_ip(ends.own_ip);
  if (!peer_ip || !own_ip) return users;
  const End peer{*peer_ip, ends.peer_port};
  const End own{*own_ip, ends.own_port};
  std::istringstream lines{std::string(table)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream columns(line);
    const std::vector<std::string> words{std::istream_iterator<std::string>(columns), {}};
    // sl local remote state queues timer retransmits uid timeout inode
    if (words.size() < 10) continue;
    const auto local = parse_end(words[1]);
    const auto remote = parse_end(words[2]);
    const auto state = parse_hex(words[3]);
    if (!local || !remote || !state) continue;
    const bool listens = *state == kListening && takes(*local, peer);
    const bool is_the_peer = *local == peer && *remote == own && words[9] != "0";
    if (listens || is_the_peer) users.insert(static_cast<uid_t>(std::stoul(words[7])));
  }
  return users;
}

Result<std::set<uid_t>> users_behind(const TcpEnds& ends) {
  std::set<uid_t> users;
  bool could_read = false;
  for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(path);
    if (!file) continue;  // a kernel without IPv6 has only the first
    could_read = true;
    users.merge(users_behind(ends, std::string(std::istreambuf_iterator<char>(file), {})));
  }
  if (!could_read) return std::unexpected(errno_error(errno, "/proc/net/tcp"));
  return users;
}

}  // namespace drover
