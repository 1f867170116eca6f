// A layer's tar into a folder, by libarchive; what it says is believed only as far as layer_tree.h allows.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "ports/descriptor.h"
#include "run/image/image_limits.h"
#include "run/image/layer_tree.h"

namespace drover {

struct LayerDemand {
  std::string digest;   // of the blob
  std::string diff_id;  // of what comes out of it
  const ImageLimits& limits;
  std::uint64_t bytes_left = 0;  // of the limits for the whole image, after the layers below
  std::uint64_t entries_left = 0;
};

struct LayerContent {
  std::uint64_t bytes = 0;    // on the disk, about
  std::uint64_t entries = 0;  // files, folders and links
  bool hides_everything = false;
  LayerNotes notes;
};

/// Fills `root`. On failure the caller removes what was written.
ImageResult<LayerContent> unpack_layer(Descriptor blob, Descriptor root, Descriptor trash, OverlayMarks marks,
                                       const LayerDemand& demand, const std::function<void(std::uint64_t)>& read,
                                       const std::stop_token& stop);

}  // namespace drover
