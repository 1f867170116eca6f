// Images that a Docker daemon holds, or is told to fetch.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "ports/container.h"
#include "run/docker/docker_daemon.h"
#include "run/image/image_error.h"
#include "run/image/image_limits.h"
#include "run/image/image_store.h"

namespace drover {

struct DockerImage {
  std::string id;  // "sha256:…": what no tag moves
  ImageDefaults defaults;
};

/// The image that the daemon has under this name, and with this digest if one is given. `missing`: it has none.
ImageResult<DockerImage> find_image(DockerDaemon& daemon, const std::string& name, const std::string& digest);

/// How an image is fetched.
struct PullOptions {
  ImageAccess access;                      // a login, if its auth_file has one for the registry
  ImageProgressCallback progress;          // called on the daemon's thread
  std::chrono::seconds silence_limit{60};  // given up when nothing came for so long
};

/// As find_image(), and pulls it if it is not there.
ImageResult<DockerImage> ensure_image(DockerDaemon& daemon, const std::string& name, const std::string& digest,
                                      const PullOptions& options);

/// Gives the daemon what is in an archive, as `docker save` writes them. The name of the first image in it.
ImageResult<std::string> load_image(DockerDaemon& daemon, const std::string& archive_path);

/// What it means that a daemon could not pull an image, from its own words.
ImageError pull_error(std::string_view said, const std::string& name);

/// "host:5000/team/tool:1.2" → "host:5000/team/tool" and "1.2"; "latest" where none is said. A digest counts as a tag.
std::pair<std::string, std::string> name_and_tag(std::string_view name);

/// For the header X-Registry-Auth, from a config.json as `docker login` writes it; empty: it has none for that
/// registry. `auth_file` empty: where Docker looks.
std::string registry_auth(std::string auth_file, const std::string& host);

}  // namespace drover
