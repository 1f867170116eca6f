#include "run/image/image_source.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "run/image/content_digest.h"
#include "run/image/oci_layout.h"
#include "run/image/skopeo.h"
#include "run/remove_tree.h"

namespace drover {
namespace fs = std::filesystem;
namespace {

using Source = ImageReference::Source;

constexpr int kMostIndexes = 4;

/// A layout of somebody's, read where it lies.
class LayoutSource final : public ImageSource {
 public:
  explicit LayoutSource(ImageReference reference) : reference_(std::move(reference)), layout_(reference_.path) {}

  ImageResult<std::string> top() override {
    if (auto there = layout_.check(); !there) return pass(there);
    if (reference_.is_pinned()) {
      auto document = layout_.document(reference_.digest);
      if (document || document.error().fault != ImageFault::missing) return document;
      return image_fail(ImageFault::bad_digest, concat("it has changed: it no longer contains ", reference_.digest),
                        "submit the job again to use the current image");
    }
    auto json = layout_.index();
    if (!json) return pass(json);
    auto index = index_from_json(*json);
    if (!index) return pass(index);
    if (!reference_.tag.empty()) {
      keep_called(reference_.tag, index->entries);
      if (index->entries.empty()) {
        return image_fail(ImageFault::missing, concat("image ", reference_.tag, " not found in the layout"),
                          concat("it has: ", names(*json)));
      }
    }
    std::erase_if(index->entries, [](const IndexEntry& entry) { return !entry.is_image(); });
    if (index->entries.empty())
      return image_fail(ImageFault::missing, "the layout contains no image", "create the layout again");
    if (index->entries.size() == 1) return layout_.document(index->entries.front().manifest.digest);
    const bool one_image = std::ranges::all_of(
        index->entries, [](const IndexEntry& entry) { return !entry.platform.architecture.empty(); });
    if (one_image && reference_.tag.empty()) return json;
    return image_fail(ImageFault::missing, "the layout contains several images",
                      concat("name one of them, as in oci:PATH:TAG: ", names(*json)));
  }

  ImageResult<std::string> manifest(const std::string& digest) override { return layout_.document(digest); }
  ImageResult<std::string> config(const std::string&, const Blob& config) override {
    return layout_.document(config.digest);
  }
  ImageResult<void> fetch(const std::string&, const std::vector<Blob>&, std::uint64_t,
                          const std::function<void(std::uint64_t)>&) override {
    return {};
  }
  ImageResult<Descriptor> blob(const std::string& digest) override { return layout_.blob(digest); }
  void release(const std::string&) override {}

 private:
  /// Whole names, else those whose tag it is.
  static void keep_called(const std::string& name, std::vector<IndexEntry>& entries) {
    const bool whole = std::ranges::any_of(entries, [&](const IndexEntry& entry) { return entry.name == name; });
    std::erase_if(entries, [&](const IndexEntry& entry) {
      return whole ? entry.name != name : !entry.name.ends_with(concat(":", name));
    });
  }

  static std::string names(const std::string& json) {
    std::string out;
    if (const auto index = index_from_json(json); index) {
      for (const IndexEntry& entry : index->entries) {
        if (!entry.name.empty()) out += concat(out.empty() ? "" : ", ", entry.name);
      }
    }
    return out.empty() ? "no named images" : out;
  }

  ImageReference reference_;
  OciLayout layout_;
};

/// Everything else, by skopeo into a layout of our own.
class SkopeoSource final : public ImageSource {
 public:
  SkopeoSource(ImageReference reference, const ImageAccess& access, const ImageLimits& limits, std::string folder,
               const std::stop_token& stop)
      : reference_(std::move(reference)),
        access_(access),
        stall_ms_(limits.stall_ms),
        folder_(std::move(folder)),
        stop_(stop),
        skopeo_(reference_, access, limits.stall_ms, folder_, stop),
        layout_(concat(folder_, "/layout")) {}

  ImageResult<std::string> top() override {
    if (reference_.source == Source::docker_daemon) {
      if (auto saved = save(); !saved) return pass(saved);
    }
    auto document = skopeo_.manifest(reference_.digest);
    if (document || reference_.source != Source::docker_archive || !reference_.name.empty()) return document;
    const auto names = skopeo_.names();
    if (!names || names->size() < 2) return document;
    std::string all;
    for (const std::string& name : *names) all += concat(all.empty() ? "" : ", ", name);
    return image_fail(ImageFault::missing, "the archive contains several images",
                      concat("name one of them, as in docker-archive:PATH:NAME:TAG: ", all));
  }

  ImageResult<std::string> manifest(const std::string& digest) override { return skopeo_.manifest(digest); }
  ImageResult<std::string> config(const std::string& manifest_digest, const Blob&) override {
    return skopeo_.config(manifest_digest);
  }

  ImageResult<void> fetch(const std::string& manifest_digest, const std::vector<Blob>& known, std::uint64_t bytes,
                          const std::function<void(std::uint64_t)>& fetched) override {
    // A blob of the right name and size is one that skopeo does not fetch. Holes will do: nobody reads it.
    std::error_code error;
    fs::create_directories(concat(folder_, "/layout/blobs/sha256"), error);
    if (error) return std::unexpected(image_errno(error.value(), folder_));
    std::set<std::string> names;
    for (const Blob& layer : known) {
      const std::string path = layout_.blob_path(layer.digest);
      const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
      if (!file) return std::unexpected(image_errno(errno, path));
      if (::ftruncate(file.get(), static_cast<off_t>(layer.bytes)) != 0) {
        ::unlink(path.c_str());  // the manifest lies about its size; then it is fetched
        continue;
      }
      names.insert(digest_digits(layer.digest));
    }
    names.insert("archive.tar");
    return skopeo_.copy(manifest_digest, names, bytes, fetched);
  }

  ImageResult<Descriptor> blob(const std::string& digest) override { return layout_.blob(digest); }
  void release(const std::string& digest) override { ::unlink(layout_.blob_path(digest).c_str()); }

 private:
  /// Each question to a daemon would copy the whole image: it is copied once, and the copy is asked.
  ImageResult<void> save() {
    if (auto saved = skopeo_.save({}); !saved) return pass(saved);
    ImageReference archive = reference_;
    archive.source = Source::docker_archive;
    archive.path = "archive.tar";
    archive.digest.clear();
    skopeo_ = Skopeo(std::move(archive), access_, stall_ms_, folder_, stop_);
    return {};
  }

  ImageReference reference_;
  ImageAccess access_;
  std::int64_t stall_ms_;
  std::string folder_;
  std::stop_token stop_;
  Skopeo skopeo_;
  OciLayout layout_;
};

/// A folder that goes again.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* base = std::getenv("TMPDIR");
    std::string path = concat(base == nullptr || *base != '/' ? "/tmp" : base, "/drover-image.XXXXXX");
    if (::mkdtemp(path.data()) != nullptr) path_ = std::move(path);
  }
  ~TemporaryFolder() {
    if (!path_.empty()) remove_tree(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

std::unique_ptr<ImageSource> open_source(const ImageReference& reference, const ImageAccess& access,
                                         const ImageLimits& limits, const std::string& folder,
                                         const std::stop_token& stop) {
  if (reference.source == Source::oci_layout) return std::make_unique<LayoutSource>(reference);
  ImageReference absolute = reference;
  std::error_code ignored;
  if (reference.is_local_path()) absolute.path = fs::absolute(reference.path, ignored).lexically_normal();
  return std::make_unique<SkopeoSource>(std::move(absolute), access, limits, folder, stop);
}

ImageResult<ResolvedImage> resolve_with(ImageSource& source, const ImageReference& reference, const Platform& machine) {
  auto top = source.top();
  if (!top) return pass(top);
  ResolvedImage out;
  out.digest = digest_of(*top);
  if (reference.is_pinned() && out.digest != reference.digest) {
    return image_fail(ImageFault::bad_digest, concat("its digest is now ", out.digest, ", not the requested one"),
                      reference.source == Source::registry ? "retry; if it fails again, push the image again"
                                                           : "submit the job again to use the current image");
  }
  out.pinned = reference.pinned(out.digest);
  if (reference.is_local_path()) {
    std::error_code error;
    const fs::path whole = fs::canonical(reference.path, error);
    if (!error) out.pinned.path = whole;
  }
  out.manifest_digest = out.digest;
  out.manifest = std::move(*top);
  // An index may name indexes, though hardly anybody does so.
  for (int depth = 0; is_index(out.manifest); ++depth) {
    if (depth == kMostIndexes)
      return image_fail(ImageFault::unsupported, "its index is nested too deeply", "name the image itself");
    auto index = index_from_json(out.manifest);
    if (!index) return pass(index);
    for (const IndexEntry& entry : index->entries) {
      if (!entry.platform.architecture.empty() && entry.is_image()) out.platforms.push_back(entry.platform);
    }
    auto chosen = choose(*index, machine);
    if (!chosen) {
      if (chosen.error().fault != ImageFault::wrong_architecture) return pass(chosen);
      out.manifest_digest.clear();
      out.manifest.clear();
      return out;
    }
    auto manifest = source.manifest(chosen->manifest.digest);
    if (!manifest) return pass(manifest);
    if (digest_of(*manifest) != chosen->manifest.digest) {
      return image_fail(ImageFault::bad_digest, concat("its manifest does not match ", chosen->manifest.digest),
                        "retry; if it fails again, push the image again");
    }
    out.manifest_digest = chosen->manifest.digest;
    out.manifest = std::move(*manifest);
  }
  return out;
}

ImageResult<std::string> root_folder(const ImageReference& reference) {
  std::error_code error;
  const fs::path whole = fs::canonical(reference.path, error);
  if (error) {
    return image_fail(ImageFault::missing, concat(reference.path, ": ", error.message()),
                      "check the path; it must exist on every machine that runs the job");
  }
  if (!fs::is_directory(whole, error)) {
    return image_fail(ImageFault::unsupported, concat(whole.string(), " is not a folder"),
                      "use a folder that contains a root file system, or docker-archive:PATH");
  }
  return whole.string();
}

ImageResult<ResolvedImage> resolve(const ImageReference& reference, const ImageAccess& access,
                                   const ImageLimits& limits, const std::stop_token& stop) {
  if (reference.source == Source::root_folder) {
    auto path = root_folder(reference);
    if (!path) return std::unexpected(about(reference, std::move(path.error())));
    ResolvedImage out;
    out.pinned = reference;
    out.pinned.path = std::move(*path);
    return out;
  }
  const TemporaryFolder folder;
  if (folder.path().empty())
    return std::unexpected(about(reference, image_errno(errno, "cannot create a temporary folder")));
  const auto source = open_source(reference, access, limits, folder.path(), stop);
  auto resolved = resolve_with(*source, reference, this_platform());
  if (!resolved) return std::unexpected(about(reference, std::move(resolved.error())));
  return resolved;
}

}  // namespace drover
