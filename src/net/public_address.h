// Which network addresses are on the public Internet.
#pragma once

#include <sys/socket.h>

namespace drover {

/// Neither this machine nor a private, link-local, shared, documentation, multicast or reserved network (the IANA
/// special-purpose registries). An IPv4 address inside an IPv6 one (mapped, NAT64) counts as that IPv4 address. Other
/// families, such as Unix sockets, are not public.
bool is_public_address(const sockaddr& address);

}  // namespace drover
