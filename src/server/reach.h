#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drover {

/// By which addresses a server is reached. One that listens on all of its machine's ("0.0.0.0:8750", "[::]:8750")
/// cannot be asked under that name: nobody's certificate holds it, and elsewhere it means another machine.
struct Reach {
  std::vector<std::string> machine;  // the addresses of this machine, as machine_addresses() finds them
  std::string name;                  // its own, or nothing

  /// What a certificate for it has to name.
  std::vector<std::string> certificate_names(const std::vector<std::string>& listen,
                                             const std::vector<std::string>& advertise) const;

  /// "HOST:PORT" for others, in the order to try them, for one that it listens on.
  std::vector<std::string> from_elsewhere(std::string_view listening) const;

  /// "HOST:PORT" for clients on this machine.
  static std::string from_here(std::string_view listening);
};

/// Whether only programs of this machine reach what listens there.
bool is_local_address(std::string_view address);

/// Of every network of this machine that is up: addresses without brackets, neither loopback nor link-local.
std::vector<std::string> machine_addresses();

/// What this machine calls itself, if that can stand in a certificate.
std::string machine_name();

}  // namespace drover
