#include "run/image/image_fetch.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "run/image/content_digest.h"

namespace drover {
namespace {

// What an archive takes for each of its bytes, roughly: itself, and what comes out of it.
constexpr std::uint64_t kRoomPerByte = 4;

std::unexpected<ImageError> cancelled() {
  return image_fail(ImageFault::cancelled, "the fetch was cancelled");
}

/// Each digest once: an image may have the same layer twice.
std::vector<Blob> distinct(const std::vector<Blob>& layers) {
  std::vector<Blob> out;
  std::set<std::string> seen;
  for (const Blob& layer : layers) {
    if (seen.insert(layer.digest).second) out.push_back(layer);
  }
  return out;
}

}  // namespace

ImageFetch::ImageFetch(const StoreFolder& folder, const LayerStore& layers, const ImageRecords& records,
                       const ImageLimits& limits, const ImageReference& reference, const ImageAccess& access,
                       const ImageProgressCallback& progress, const std::stop_token& stop, const MakeRoom& make_room)
    : folder_(folder),
      layers_(layers),
      records_(records),
      limits_(limits),
      reference_(reference),
      access_(access),
      progress_(progress),
      stop_(stop),
      make_room_(make_room) {}

std::string ImageFetch::place() const {
  return digest_digits(
      digest_of(concat(static_cast<int>(reference_.source), " ", reference_.host, " ", reference_.path)));
}

void ImageFetch::say(const ImageProgress& now) {
  if (!progress_ || said_ == now) return;
  said_ = now;
  progress_(now);
}

ImageResult<FileLock> ImageFetch::lock(const std::string& path, LockKind kind) {
  if (auto taken = FileLock::try_take(path, kind, FileLock::IfAbsent::make); taken) return std::move(*taken);
  ImageProgress waiting = said_.value_or(ImageProgress{});
  waiting.phase = ImagePhase::waiting;
  say(waiting);
  auto taken = FileLock::take(path, kind, FileLock::IfAbsent::make, stop_);
  if (taken) return std::move(*taken);
  if (stop_.stop_requested()) return cancelled();
  return std::unexpected(image_errno(errno, path));
}

ImageResult<std::shared_ptr<const Image>> ImageFetch::run() {
  // What many ask the same place for by the same digest, one asks for.
  FileLock first;
  if (reference_.is_pinned()) {
    auto taken = lock(folder_.image_lock(digest_digits(reference_.digest), place()), LockKind::exclusive);
    if (!taken) return pass(taken);
    first = std::move(*taken);
    if (auto image = records_.hold(reference_, records_.manifest_of(reference_.digest)); image) return image;
  }
  say({.phase = ImagePhase::resolving});
  auto work = WorkFolder::make(folder_);
  if (!work) return pass(work);
  const auto source = open_source(reference_, access_, limits_, work->path(), stop_);
  const Platform machine = this_platform();
  auto resolved = resolve_with(*source, reference_, machine);
  if (!resolved) return pass(resolved);
  if (resolved->manifest_digest.empty()) {
    ImageIndex index;
    for (const Platform& platform : resolved->platforms) index.entries.push_back({{}, platform, {}});
    auto none = choose(index, machine);
    return pass(none);
  }
  FileLock second;
  if (resolved->manifest_digest != reference_.digest) {
    auto taken = lock(folder_.image_lock(digest_digits(resolved->manifest_digest), place()), LockKind::exclusive);
    if (!taken) return pass(taken);
    second = std::move(*taken);
  }
  auto image = records_.hold(reference_, resolved->manifest_digest);
  if (!image) {
    auto brought = bring(*source, *work, *resolved);
    if (!brought) return pass(brought);
    image = std::move(*brought);
    has_brought_it_ = true;
  }
  if (resolved->digest != resolved->manifest_digest)
    records_.add_index(*work, resolved->digest, resolved->manifest_digest);
  records_.add_name(resolved->manifest_digest, reference_.text());
  return image;
}

ImageResult<ImageManifest> ImageFetch::checked_manifest(const ResolvedImage& resolved) const {
  auto manifest = manifest_from_json(resolved.manifest);
  if (!manifest) return pass(manifest);
  if (manifest->layers.size() > limits_.layers) {
    return image_fail(ImageFault::too_large,
                      concat("it has ", manifest->layers.size(), " layers, but the limit is ", limits_.layers),
                      "build it with fewer steps, or squash it");
  }
  if (manifest->layers.empty())
    return image_fail(ImageFault::unsupported, "it has no layers, so there is nothing to run", "use another image");
  if (manifest->compressed_bytes() > limits_.bytes) {
    return image_fail(ImageFault::too_large,
                      concat("its layers are ", format_size(manifest->compressed_bytes()), ", but the limit is ",
                             format_size(limits_.bytes)),
                      "make the image smaller, or raise the limit with DROVER_IMAGE_SIZE");
  }
  return manifest;
}

ImageResult<ImageConfig> ImageFetch::checked_config(ImageSource& source, const ResolvedImage& resolved,
                                                    const ImageManifest& manifest, std::string& text) const {
  auto got = source.config(resolved.manifest_digest, manifest.config);
  if (!got) return pass(got);
  if (digest_of(*got) != manifest.config.digest) {
    return image_fail(ImageFault::bad_digest, concat("its configuration does not match ", manifest.config.digest),
                      "retry; if it fails again, push the image again");
  }
  auto config = config_from_json(*got);
  if (!config) return pass(config);
  if (auto fits = check_platform(config->platform, this_platform()); !fits) return pass(fits);
  if (config->diff_ids.size() != manifest.layers.size()) {
    return image_fail(ImageFault::corrupt,
                      concat("its manifest has ", plural(manifest.layers.size(), "layer"),
                             ", but its configuration has ", config->diff_ids.size()),
                      "build or push it again");
  }
  text = std::move(*got);
  return config;
}

std::vector<Blob> ImageFetch::missing_of(const ImageManifest& manifest) const {
  std::vector<Blob> out = distinct(manifest.layers);
  std::erase_if(out, [&](const Blob& layer) { return layers_.find(layer.digest).has_value(); });
  return out;
}

// Always in the order of their digests, so that two who need the same ones cannot wait for each other.
ImageResult<std::vector<FileLock>> ImageFetch::lock_archives(const std::vector<Blob>& layers) {
  std::set<std::string> paths;
  for (const Blob& layer : layers) paths.insert(folder_.fetch_lock(digest_digits(layer.digest), place()));
  std::vector<FileLock> locks;
  for (const std::string& path : paths) {
    auto taken = lock(path, LockKind::exclusive);
    if (!taken) return pass(taken);
    locks.push_back(std::move(*taken));
  }
  return locks;
}

ImageResult<std::vector<FileLock>> ImageFetch::lock_layers(const ImageManifest& manifest) {
  std::set<std::string> digests;
  for (const Blob& layer : manifest.layers) digests.insert(layer.digest);
  while (true) {
    std::vector<FileLock> locks;
    bool vanished = false;
    for (const std::string& digest : digests) {
      const bool there = layers_.find(digest).has_value();
      auto taken = lock(folder_.layer_lock(digest_digits(digest)), there ? LockKind::shared : LockKind::exclusive);
      if (!taken) return pass(taken);
      vanished = vanished || (there && !layers_.find(digest));  // pruned a moment before
      locks.push_back(std::move(*taken));
    }
    if (!vanished) return locks;
  }
}

ImageResult<ImageFetch::Held> ImageFetch::bring_layers(ImageSource& source, const std::string& manifest_digest,
                                                       const ImageManifest& manifest) {
  std::map<std::string, Blob> fetched;
  while (true) {
    Held held;
    // A registry that hangs holds up only those who fetch the same from it: the layers themselves are not locked yet.
    std::vector<Blob> missing = missing_of(manifest);
    auto archives = lock_archives(missing);
    if (!archives) return pass(archives);
    held.archives = std::move(*archives);
    missing = missing_of(manifest);  // another may have brought some of them meanwhile
    std::erase_if(missing, [&](const Blob& layer) { return fetched.contains(layer.digest); });
    if (!missing.empty()) {
      if (auto got = fetch_archives(source, manifest_digest, manifest, missing, fetched); !got) return pass(got);
    }
    auto layers = lock_layers(manifest);
    if (!layers) return pass(layers);
    held.layers = std::move(*layers);
    missing = missing_of(manifest);
    if (std::ranges::all_of(missing, [&](const Blob& layer) { return fetched.contains(layer.digest); })) return held;
    // Some that were there have been pruned meanwhile.
  }
}

ImageResult<void> ImageFetch::fetch_archives(ImageSource& source, const std::string& manifest_digest,
                                             const ImageManifest& manifest, const std::vector<Blob>& missing,
                                             std::map<std::string, Blob>& fetched) {
  for (const Blob& layer : missing) {
    source.release(layer.digest);  // what stands there for one that was known is not it
    fetched.emplace(layer.digest, layer);
  }
  std::vector<Blob> known = distinct(manifest.layers);
  std::erase_if(known, [&](const Blob& layer) { return fetched.contains(layer.digest); });
  std::vector<Blob> archives;
  archives.reserve(fetched.size());
  for (const auto& [digest, layer] : fetched) archives.push_back(layer);
  ImageProgress progress{ImagePhase::fetching, 0, ImageManifest{{}, archives}.compressed_bytes(), 0,
                         static_cast<std::uint32_t>(archives.size())};
  if (auto room = find_room(progress.bytes_total); !room) return room;
  say(progress);
  return source.fetch(manifest_digest, known, progress.bytes_total, [&](std::uint64_t bytes) {
    progress.bytes_done = std::min(bytes, progress.bytes_total);
    say(progress);
  });
}

ImageResult<void> ImageFetch::find_room(std::uint64_t bytes) const {
  auto free = folder_.free_bytes();
  if (free && *free / kRoomPerByte < bytes) {
    make_room_(bytes * kRoomPerByte);
    free = folder_.free_bytes();
  }
  if (!free || bytes <= *free) return {};
  return image_fail(ImageFault::no_space,
                    concat("it needs more than ", format_size(bytes), " in ", folder_.path(), ", but only ",
                           format_size(*free), " is free"),
                    "free some disk space, or run 'drover image prune'");
}

ImageResult<std::shared_ptr<const Image>> ImageFetch::bring(ImageSource& source, const WorkFolder& work,
                                                            const ResolvedImage& resolved) {
  auto manifest = checked_manifest(resolved);
  if (!manifest) return pass(manifest);
  std::string config_text;
  auto config = checked_config(source, resolved, *manifest, config_text);
  if (!config) return pass(config);
  auto held = bring_layers(source, resolved.manifest_digest, *manifest);
  if (!held) return std::unexpected(held.error());
  if (auto unpacked = unpack(source, work, *manifest, *config); !unpacked) return pass(unpacked);
  if (auto added = records_.add(work, resolved.manifest_digest, resolved.manifest, config_text); !added)
    return pass(added);
  auto image = records_.hold(reference_, resolved.manifest_digest);
  if (!image) {
    return std::unexpected(ImageError{ImageFault::no_space, Blame::machine, "it was unpacked, but has disappeared",
                                      "check whether another program removes files from the image store"});
  }
  return image;
}

ImageResult<void> ImageFetch::unpack(ImageSource& source, const WorkFolder& work, const ImageManifest& manifest,
                                     const ImageConfig& config) {
  const std::vector<Blob> missing = missing_of(manifest);
  std::uint64_t bytes_left = limits_.bytes;
  std::uint64_t entries_left = limits_.entries;
  ImageProgress progress{ImagePhase::unpacking, 0, ImageManifest{{}, missing}.compressed_bytes(), 0,
                         static_cast<std::uint32_t>(missing.size())};
  std::map<std::string, StoredLayer> fresh;
  for (std::size_t at = 0; at < manifest.layers.size(); ++at) {
    const std::string& digest = manifest.layers[at].digest;
    auto layer = layers_.find(digest);
    if (const auto twice = fresh.find(digest); twice != fresh.end()) layer = twice->second;
    if (!layer) {
      ++progress.layer;
      say(progress);
      auto blob = source.blob(digest);
      if (!blob) return pass(blob);
      const LayerDemand demand{digest, config.diff_ids[at], limits_, bytes_left, entries_left};
      auto added = layers_.unpack(
          work, std::move(*blob), demand,
          [&](std::uint64_t bytes) {
            progress.bytes_done = std::min(progress.bytes_done + bytes, progress.bytes_total);
            say(progress);
          },
          stop_);
      if (!added && added.error().fault == ImageFault::too_large)
        added.error().message = concat("layer ", digest, ": ", added.error().message);
      if (!added) return pass(added);
      source.release(digest);
      fresh.emplace(digest, *added);
      layer = std::move(*added);
    }
    if (layer->diff_id != config.diff_ids[at]) {
      return image_fail(
          ImageFault::bad_digest,
          concat("a layer unpacks to ", layer->diff_id, ", but the configuration says ", config.diff_ids[at]),
          "build or push the image again");
    }
    bytes_left -= std::min(bytes_left, layer->content.bytes);
    entries_left -= std::min(entries_left, layer->content.entries);
  }
  std::vector<std::string> digests;
  digests.reserve(fresh.size());
  for (const auto& [digest, layer] : fresh) digests.push_back(digest);
  return layers_.publish(work, digests);
}

}  // namespace drover
