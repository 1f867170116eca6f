// Listing and removing: what nobody uses goes, the longest unused first, and layers when no image has them any more.
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "run/image/content_digest.h"
#include "run/image/image_store.h"

namespace drover {
namespace {

/// How many images have each layer.
std::map<std::string, std::uint64_t> users_of_layers(const std::vector<ImageRecord>& records) {
  std::map<std::string, std::uint64_t> out;
  for (const ImageRecord& record : records) {
    std::set<std::string> once;
    for (const Blob& layer : record.manifest.layers) {
      if (once.insert(layer.digest).second) ++out[layer.digest];
    }
  }
  return out;
}

/// Of those who fetched something. Whoever waits for one takes it anew when it is gone.
void remove_free_locks(const StoreFolder& folder) {
  for (const std::string& name : names_in(folder.locks())) {
    if (!name.starts_with("image-") && !name.starts_with("fetch-")) continue;
    const std::string path = concat(folder.locks(), "/", name);
    if (const auto held = FileLock::try_take(path, LockKind::exclusive, FileLock::IfAbsent::leave); held)
      ::unlink(path.c_str());
  }
}

}  // namespace

std::vector<StoredImage> ImageStore::list() const {
  const std::vector<ImageRecord> records = records_.all();
  const auto users = users_of_layers(records);
  std::vector<StoredImage> out;
  for (const ImageRecord& record : records) {
    StoredImage image{record.digest,
                      record.names,
                      0,
                      0,
                      static_cast<std::uint32_t>(record.manifest.layers.size()),
                      record.used_ms,
                      records_.in_use(record.digest)};
    std::set<std::string> once;
    for (const Blob& blob : record.manifest.layers) {
      const auto layer = layers_.find(blob.digest);
      if (!layer || !once.insert(blob.digest).second) continue;
      image.bytes += layer->content.bytes;
      if (users.at(blob.digest) == 1) image.own_bytes += layer->content.bytes;
    }
    out.push_back(std::move(image));
  }
  std::ranges::stable_sort(out, std::greater<>(), &StoredImage::used_ms);
  return out;
}

ImageResult<PruneReport> ImageStore::prune(const PrunePolicy& policy) {
  folder_.clean();
  auto work = WorkFolder::make(folder_);
  if (!work) return pass(work);
  // One at a time: two who both see too much would remove twice as much.
  const auto turn = FileLock::take(folder_.path() + "/locks/prune", LockKind::exclusive, FileLock::IfAbsent::make);
  PruneReport report;
  std::vector<StoredImage> images = list();
  std::map<std::string, std::uint64_t> sizes;
  std::uint64_t total = 0;
  for (const std::string& digest : layers_.all()) {
    if (const auto layer = layers_.find(digest); layer) total += sizes[digest] = layer->content.bytes;
  }
  auto users = users_of_layers(records_.all());
  for (const auto& [digest, bytes] : sizes) {
    if (!users.contains(digest)) total -= bytes;  // goes in any case
  }
  const std::uint64_t total_before = total;
  const auto free = folder_.free_bytes();
  std::ranges::reverse(images);  // the longest unused first
  for (StoredImage& image : images) {
    const bool too_old = policy.unused_for_ms && policy.now_ms - image.used_ms >= *policy.unused_for_ms;
    const bool too_much = policy.most_bytes && total > *policy.most_bytes;
    const bool too_little_room = policy.free_bytes && free && *free + (total_before - total) < *policy.free_bytes;
    // What is used for long is not old when it is let go.
    if (image.in_use) records_.touch(image.digest);
    if (!too_old && !too_much && !too_little_room) continue;
    const auto text = read_text(folder_.image(digest_digits(image.digest)) + "/manifest.json");
    if (!records_.remove(*work, image.digest)) {
      ++report.in_use;
      continue;
    }
    const auto manifest = text ? manifest_from_json(*text) : image_fail(ImageFault::corrupt, {});
    std::set<std::string> once;
    for (const Blob& layer : manifest ? manifest->layers : std::vector<Blob>()) {
      if (once.insert(layer.digest).second && --users[layer.digest] == 0) total -= std::min(total, sizes[layer.digest]);
    }
    report.removed.push_back(std::move(image));
  }
  users = users_of_layers(records_.all());
  for (const std::string& digest : layers_.all()) {
    if (users.contains(digest)) continue;
    // Whoever brings an image in holds the locks of its layers until its record is written.
    const std::string path = folder_.layer_lock(digest_digits(digest));
    const auto lock = FileLock::try_take(path, LockKind::exclusive, FileLock::IfAbsent::make);
    if (!lock || users_of_layers(records_.all()).contains(digest)) continue;
    report.freed_bytes += sizes[digest];
    layers_.remove(*work, digest);
    ::unlink(path.c_str());
  }
  remove_free_locks(folder_);
  for (const std::string& digest : layers_.all()) {
    if (const auto layer = layers_.find(digest); layer) report.kept_bytes += layer->content.bytes;
  }
  return report;
}

}  // namespace drover
