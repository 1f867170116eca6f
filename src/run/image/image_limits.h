// How large an image may be, and how long one waits for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace drover {

struct ImageLimits {
  std::uint64_t bytes = std::uint64_t{256} << 30;        // of all layers, unpacked; of one blob, too
  std::uint64_t entries = 10'000'000;                    // files, folders and links of all layers
  std::size_t path_bytes = 4095;                         // of one name in a layer
  std::uint64_t layer_memory = std::uint64_t{64} << 20;  // for what is remembered of a layer while it is unpacked
  std::size_t layers = 500;                              // as many as overlay stacks
  std::int64_t stall_ms = 60'000;                        // without one byte more; a question must be answered within it
  std::uint64_t store_bytes = 0;                         // what stays in the store beyond what is in use; 0: no end
  std::int64_t unused_for_ms = 0;                        // and for how long; 0: no end
};

/// How a registry is spoken to.
struct ImageAccess {
  std::string auth_file;  // a config.json as Docker writes it; empty: where Docker and skopeo look
  std::vector<std::string> insecure_registries;  // host[:port] without TLS, or with a certificate nobody vouches for
  std::string skopeo = "skopeo";                 // looked for in PATH
};

}  // namespace drover
