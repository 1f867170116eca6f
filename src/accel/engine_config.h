// How Docker, containerd and podman are told of an OCI runtime: changes to their own files that can be undone to the
// byte. Text in, text out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drover {

enum class ContainerEngine : unsigned char { docker, containerd, podman };

/// Where its file is unless somebody says otherwise.
std::string_view engine_config_path(ContainerEngine engine);

/// The file with the runtimes `nvidia`, `oci-neuron` and `drover`; no text: there is no file yet. `is_default` makes
/// `nvidia` the engine's default. The text is what it was if all is there already. An error says what is in the way.
Result<std::string> with_runtimes(ContainerEngine engine, const std::optional<std::string>& text,
                                  const std::string& program, bool is_default = false);

/// The file without what with_runtimes() added; no text: there was no file before.
Result<std::optional<std::string>> without_runtimes(ContainerEngine engine, const std::string& text);

}  // namespace drover
