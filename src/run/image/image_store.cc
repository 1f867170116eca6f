#include "run/image/image_store.h"

#include <fcntl.h>
#include <poll.h>

#include <chrono>
#include <filesystem>

#include "base/text.h"
#include "run/image/image_fetch.h"

namespace drover {
namespace {

std::int64_t epoch_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::string_view to_string(ImagePhase phase) {
  switch (phase) {
    case ImagePhase::resolving: return "resolving";
    case ImagePhase::waiting: return "waiting";
    case ImagePhase::fetching: return "fetching";
    case ImagePhase::unpacking: return "unpacking";
  }
  return "unknown";
}

ImageStore::ImageStore(std::string folder, const ImageLimits& limits, OverlayMarks marks)
    : folder_(std::move(folder)),
      limits_(limits),
      marks_(marks),
      layers_(folder_, marks),
      records_(folder_, layers_, marks) {}

ImageResult<std::unique_ptr<ImageStore>> ImageStore::open(std::string folder, const ImageLimits& limits) {
  std::error_code error;
  // Skopeo runs elsewhere, and overlay is mounted by whole paths.
  if (auto whole = std::filesystem::absolute(folder, error); !error) folder = whole.lexically_normal();
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  const StoreFolder place(folder);
  if (auto made = place.make(); !made) return pass(made);
  const Descriptor layers(::open(place.layers().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!layers) return std::unexpected(image_errno(errno, place.layers()));
  place.clean();
  return std::unique_ptr<ImageStore>(new ImageStore(std::move(folder), limits, possible_marks(layers.get())));
}

std::shared_ptr<const Image> ImageStore::ready(const ImageReference& reference) const {
  if (reference.source == ImageReference::Source::root_folder) {
    auto path = root_folder(reference);
    if (!path) return nullptr;
    auto image = std::make_shared<Image>();
    image->reference = reference;
    image->marks = marks_;
    image->layers = {std::move(*path)};
    return image;
  }
  if (!reference.is_pinned()) return nullptr;
  return records_.hold(reference, records_.manifest_of(reference.digest));
}

ImageResult<std::shared_ptr<const Image>> ImageStore::fetch(const ImageReference& reference, const ImageAccess& access,
                                                            const ImageProgressCallback& progress,
                                                            const std::stop_token& stop) {
  if (auto image = ready(reference); image) return image;
  if (reference.source == ImageReference::Source::root_folder) {
    auto path = root_folder(reference);
    return std::unexpected(about(reference, path ? image_errno(ENOENT, *path) : std::move(path.error())));
  }
  const ImageFetch::MakeRoom make_room = [this](std::uint64_t bytes) { (void)prune({.free_bytes = bytes}); };
  const auto bring = [&] {
    ImageFetch fetch(folder_, layers_, records_, limits_, reference, access, progress, stop, make_room);
    auto image = fetch.run();
    if (fetch.has_brought_it()) (void)tidy();  // what could not be removed is removed another time
    return image;
  };
  auto image = bring();
  if (!image && image.error().disk == ImageError::Disk::is_full) {
    // It came to more than was to be expected.
    const auto pruned = prune({.most_bytes = 0});
    if (pruned && pruned->freed_bytes > 0) image = bring();
  }
  if (!image) return std::unexpected(about(reference, std::move(image.error())));
  return image;
}

ImageResult<PruneReport> ImageStore::tidy() {
  PrunePolicy policy{.now_ms = epoch_ms()};
  if (limits_.store_bytes > 0) policy.most_bytes = limits_.store_bytes;
  if (limits_.unused_for_ms > 0) policy.unused_for_ms = limits_.unused_for_ms;
  return prune(policy);
}

}  // namespace drover
