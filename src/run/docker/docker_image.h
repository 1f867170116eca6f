// Images that a Docker daemon holds, or is told to fetch.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ports/container.h"
#include "run/docker/docker_daemon.h"

namespace drover {

struct DockerImage {
  std::string id;  // "sha256:…": what no tag moves
  ImageDefaults config;
};

/// How to log in to a registry.
struct RegistryLogin {
  std::string user;
  std::string password;
  std::string server;
};

/// How far a pull is: "pulling fs layer", bytes of all layers known so far.
struct PullProgress {
  std::string status;
  std::uint64_t done_bytes = 0;
  std::uint64_t total_bytes = 0;
};
using TellPullProgress = std::function<void(const PullProgress&)>;

/// The image that the daemon has under this name, and with this digest if one is given. `not_found`: it has none.
Result<DockerImage> find_image(DockerDaemon& daemon, const std::string& name, const std::string& digest);

/// As above, and pulls it if it is not there. `tell` is called on the daemon's thread. Errors: `not_found` (there is
/// none by that name or digest), `denied` (the registry wants a login, or another one), `unreachable` (the registry
/// does not answer), `timeout`, `no_space`, `bad_input` (not for this kind of machine, or no name of an image).
Result<DockerImage> ensure_image(DockerDaemon& daemon, const std::string& name, const std::string& digest,
                                 const std::optional<RegistryLogin>& login = {}, const TellPullProgress& tell = {});

/// Gives the daemon what is in an archive, as `docker save` writes them. The name of the first image in it.
Result<std::string> load_image(DockerDaemon& daemon, const std::string& archive_path);

/// What a pull that went wrong means for code.
ErrorCode pull_error_code(std::string_view message);

/// "host:5000/team/tool:1.2" → "host:5000/team/tool" and "1.2"; "latest" where none is said. A digest counts as a tag.
std::pair<std::string, std::string> name_and_tag(std::string_view name);

}  // namespace drover
