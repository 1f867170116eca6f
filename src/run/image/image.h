// An image that lies ready to be run.
#pragma once

#include <string>
#include <vector>

#include "run/image/file_lock.h"
#include "run/image/layer_tree.h"
#include "run/image/manifest.h"

namespace drover {

/// While this lives, nothing of it is removed.
struct Image {
  ImageReference reference;                    // as it was asked for
  std::string digest;                          // of its manifest; empty for a root folder
  std::vector<std::string> layers;             // folders as overlay's lowerdir has them: the uppermost first
  OverlayMarks marks = OverlayMarks::trusted;  // user: mount with userxattr
  ImageConfig config;
  LayerNotes notes;  // what could not be kept when it was unpacked: devices, without root
  FileLock hold;
};

}  // namespace drover
