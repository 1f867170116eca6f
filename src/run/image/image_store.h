// The images of a machine: fetched once however many want them, unpacked once per layer, kept until there is too much.
// Any number of processes and threads share one folder; all that coordinates them are locks that die with their owners,
// and renames.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "run/image/image.h"
#include "run/image/image_limits.h"
#include "run/image/image_records.h"
#include "run/image/image_source.h"

namespace drover {

enum class ImagePhase : std::uint8_t { resolving, waiting, fetching, unpacking };
/// For people: "fetching".
std::string_view to_string(ImagePhase phase);

struct ImageProgress {
  ImagePhase phase = ImagePhase::resolving;  // waiting: somebody else fetches it, or a part of it
  std::uint64_t bytes_done = 0;              // of the phase, as they are stored in the registry
  std::uint64_t bytes_total = 0;             // 0: not known yet
  std::uint32_t layer = 0;                   // being unpacked, from 1
  std::uint32_t layers = 0;                  // that have to be fetched

  bool operator==(const ImageProgress&) const = default;
};
using ImageProgressCallback = std::function<void(const ImageProgress&)>;

/// An image as it stands in a list.
struct StoredImage {
  std::string digest;
  std::vector<std::string> names;
  std::uint64_t bytes = 0;      // of all its layers
  std::uint64_t own_bytes = 0;  // of those that no other image has: what removing it would free
  std::uint32_t layers = 0;
  std::int64_t used_ms = 0;  // when it was last used, since the epoch
  bool in_use = false;
};

struct PrunePolicy {
  std::optional<std::uint64_t> most_bytes;    // the longest unused go until no more than this is left
  std::optional<std::int64_t> unused_for_ms;  // all that nobody has used for so long go
  std::optional<std::uint64_t> free_bytes;    // the longest unused go until so much of the disk is free
  std::int64_t now_ms = 0;                    // since the epoch
};

struct PruneReport {
  std::vector<StoredImage> removed;
  std::uint64_t freed_bytes = 0;
  std::uint64_t kept_bytes = 0;
  std::uint64_t in_use = 0;  // images that would have gone, but somebody uses them
};

class ImageStore {
 public:
  /// Makes the folder. What killed processes have left in it goes.
  static ImageResult<std::unique_ptr<ImageStore>> open(std::string folder, const ImageLimits& limits);
  ImageStore(const ImageStore&) = delete;
  ImageStore& operator=(const ImageStore&) = delete;

  /// Only what needs no question to anybody: a reference with a digest, or a root folder.
  std::shared_ptr<const Image> ready(const ImageReference& reference) const;

  /// Blocks until it is there. `progress` is called from this thread. From any thread, for one image as well. What the
  /// limits do not keep goes afterwards; where the disk has no room, what nobody uses goes first.
  ImageResult<std::shared_ptr<const Image>> fetch(const ImageReference& reference, const ImageAccess& access,
                                                  const ImageProgressCallback& progress = {},
                                                  const std::stop_token& stop = {});

  std::vector<StoredImage> list() const;
  /// Layers that no image has and what killed processes have left go in any case.
  ImageResult<PruneReport> prune(const PrunePolicy& policy);
  /// What the limits do not keep goes.
  ImageResult<PruneReport> tidy();

 private:
  ImageStore(std::string folder, const ImageLimits& limits, OverlayMarks marks);

  StoreFolder folder_;
  ImageLimits limits_;
  OverlayMarks marks_;
  LayerStore layers_;
  ImageRecords records_;
};

}  // namespace drover
