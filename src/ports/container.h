// A container as runners are told of it: what the definition wants, the image as it lies on this machine, and what
// others have to add.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/container.h"

namespace drover {

/// What an image says of itself, where a definition says nothing.
struct ImageDefaults {
  std::vector<std::string> entrypoint;
  std::vector<std::string> command;
  std::vector<std::string> environment;  // "NAME=value"
  std::string user;
  std::string workdir;
  std::string stop_signal;

  bool operator==(const ImageDefaults&) const = default;
};

/// All that a slot needs in order to run items in containers.
struct ContainerPlan {
  ContainerOptions options;
  std::string name;                 // of the image, as a daemon knows it
  std::string digest;               // of its manifest; empty: it has none
  std::vector<std::string> layers;  // folders, the topmost first
  ImageDefaults image;
  ContainerEdits edits;
  std::vector<std::string> gpus;      // the ids of those that it is given, for a daemon that brings them in itself
  std::shared_ptr<const void> keeps;  // the layers stay while this lives
};

}  // namespace drover
