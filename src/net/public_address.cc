#include "net/public_address.h"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace drover {
namespace {

struct Network4 {
  std::uint32_t address;
  int bits;
};
constexpr std::array kNotPublic4 = std::to_array<Network4>({
    {0x00000000, 8},   // this network
    {0x0a000000, 8},   // private
    {0x64400000, 10},  // shared by a provider's customers
    {0x7f000000, 8},   // loopback
    {0xa9fe0000, 16},  // link-local; clouds serve their credentials here
    {0xac100000, 12},  // private
    {0xc0000000, 24},  // protocol assignments
    {0xc0000200, 24},  // documentation
    {0xc0586300, 24},  // 6to4 relays
    {0xc0a80000, 16},  // private
    {0xc6120000, 15},  // benchmarks
    {0xc6336400, 24},  // documentation
    {0xcb007100, 24},  // documentation
    {0xe0000000, 4},   // multicast
    {0xf0000000, 4},   // reserved, broadcast
});

using Bytes6 = std::span<const std::uint8_t, 16>;

struct Network6 {
  std::array<std::uint8_t, 16> address;
  std::size_t bits;
};
// Within 2000::/3, which is all that is public.
constexpr std::array kNotPublic6 = std::to_array<Network6>({
    {{0x20, 0x01}, 23},              // protocol assignments, Teredo
    {{0x20, 0x01, 0x0d, 0xb8}, 32},  // documentation
    {{0x20, 0x02}, 16},              // 6to4
    {{0x3f, 0xff}, 20},              // documentation
});

bool is_public(std::uint32_t address) {
  return std::ranges::none_of(
      kNotPublic4, [&](const Network4& network) { return (address ^ network.address) >> (32 - network.bits) == 0; });
}

bool is_in(Bytes6 address, const Network6& network) {
  for (std::size_t bit = 0; bit < network.bits; ++bit) {
    const int mask = 0x80 >> (bit % 8);
    if (((address[bit / 8] ^ network.address[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

bool is_public(Bytes6 address) {
  constexpr Network6 kMapped{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96};
  constexpr Network6 kNat64{{0, 0x64, 0xff, 0x9b}, 96};
  constexpr Network6 kUnicast{{0x20}, 3};
  if (is_in(address, kMapped) || is_in(address, kNat64)) {
    return is_public(std::uint32_t{address[12]} << 24 | std::uint32_t{address[13]} << 16 |
                     std::uint32_t{address[14]} << 8 | std::uint32_t{address[15]});
  }
  return is_in(address, kUnicast) &&
         std::ranges::none_of(kNotPublic6, [&](const Network6& network) { return is_in(address, network); });
}

}  // namespace

bool is_public_address(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return is_public(ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6) {
    return is_public(Bytes6(reinterpret_cast<const sockaddr_in6&>(address).sin6_addr.s6_addr));
  }
  return false;
}

}  // namespace drover
