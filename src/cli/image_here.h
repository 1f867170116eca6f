// Images on this machine: where they are kept, how registries are reached, and a line that says how a fetch goes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/container.h"
#include "base/result.h"
#include "net/registry_rules.h"
#include "ports/container.h"
#include "ports/image_resolver.h"
#include "run/image/image_store.h"
#include "worker/machine_runner.h"

namespace drover {

/// Below Drover's data.
std::string images_folder(const std::string& root);
std::string containers_folder(const std::string& root);

/// As the environment says: DROVER_REGISTRY_AUTH, a file as Docker writes it; DROVER_INSECURE_REGISTRIES, hosts with
/// commas between them.
ImageAccess image_access();
/// What stays in the store though nothing uses it, as flags say; empty: as usual.
struct ImageKeeping {
  std::string most;    // --images-most
  std::string unused;  // --images-unused
};
/// As the environment says: DROVER_IMAGE_PATIENCE, how long a registry may say nothing; DROVER_IMAGE_SIZE, what an
/// image may come to when it is unpacked; DROVER_IMAGES_MOST and DROVER_IMAGES_UNUSED, how much stays below `root`, and
/// for how long, unless `flags` say.
Result<ImageLimits> image_limits(const std::string& root, const ImageKeeping& flags = {});

/// What the image's tag means right now is written down, so that every item runs the same image. One that only workers
/// can see stays as it is; one that is not there is an error.
Result<void> pin_image(ContainerOptions& options);

/// What a server is told about registries.
struct RegistryFlags {
  std::vector<std::string> names;      // --registries; empty: the usual ones
  std::vector<std::string> own_hosts;  // HOST:PORT of the server itself, which is always allowed
  std::string own_authority;           // the file of the authority that its certificate is from, if it has one
};
Result<RegistryRules> registry_rules(const RegistryFlags& flags);

/// Looks up tags at the registries that the rules allow.
std::unique_ptr<ImageResolver> tag_resolver(RegistryRules rules);

/// What is not here yet is fetched, and that is shown unless it shall be quiet.
Result<std::shared_ptr<const ContainerPlan>> image_here(const std::string& root, MachineRunner& runner,
                                                        const ContainerOptions& options, bool quiet);

}  // namespace drover
