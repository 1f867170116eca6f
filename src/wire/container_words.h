// Parts of a container as people write them: "/data:/in:ro", "/dev/fuse", "nofile=1024:2048". The same for flags, job
// files and the API.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/container.h"
#include "base/result.h"

namespace drover {

/// SOURCE:TARGET[:ro|rw]; a source that is no path is a volume's name.
Result<ContainerMount> mount_from_text(std::string_view text);
std::string mount_to_text(const ContainerMount& mount);

/// TARGET[:SIZE]
Result<ContainerTmpfs> tmpfs_from_text(std::string_view text);
std::string tmpfs_to_text(const ContainerTmpfs& tmpfs);

/// PATH[:INSIDE[:ACCESS]]
Result<ContainerDevice> device_from_text(std::string_view text);
std::string device_to_text(const ContainerDevice& device);

/// NAME=SOFT[:HARD]
Result<ContainerUlimit> ulimit_from_text(std::string_view text);
std::string ulimit_to_text(const ContainerUlimit& limit);

/// The kernel's number of a limit such as "nofile"; nothing: there is none of that name.
std::optional<int> ulimit_number(std::string_view name);

}  // namespace drover
