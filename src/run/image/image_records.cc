#include "run/image/image_records.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"
#include "run/image/content_digest.h"
#include "run/remove_tree.h"

namespace drover {
namespace {

constexpr std::size_t kMostNames = 64 << 10;  // bytes; whoever has more names for one image needs no list of them

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    if (!line.empty() && std::ranges::find(out, line) == out.end()) out.push_back(std::move(line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

std::string ImageRecords::manifest_of(const std::string& digest) const {
  std::array<char, 128> target{};
  const ssize_t size = ::readlink(folder_.index(digest_digits(digest)).c_str(), target.data(), target.size());
  if (size <= 0) return digest;
  std::string named = concat("sha256:", std::string_view(target.data(), static_cast<std::size_t>(size)));
  return is_image_digest(named) ? named : digest;
}

std::shared_ptr<const Image> ImageRecords::hold(const ImageReference& reference,
                                                const std::string& manifest_digest) const {
  const std::string digits = digest_digits(manifest_digest);
  auto lock = FileLock::take(folder_.used(digits), LockKind::shared, FileLock::IfAbsent::leave);
  if (!lock) return nullptr;
  const auto manifest_text = read_text(folder_.image(digits) + "/manifest.json");
  const auto config_text = read_text(folder_.image(digits) + "/config.json");
  if (!manifest_text || !config_text || digest_of(*manifest_text) != manifest_digest) return nullptr;
  const auto manifest = manifest_from_json(*manifest_text);
  auto config = config_from_json(*config_text);
  if (!manifest || !config || digest_of(*config_text) != manifest->config.digest) return nullptr;
  auto image = std::make_shared<Image>();
  image->reference = reference;
  image->digest = manifest_digest;
  image->marks = marks_;
  image->config = std::move(*config);
  for (const Blob& blob : manifest->layers) {
    const auto layer = layers_.find(blob.digest);
    if (!layer) return nullptr;
    if (layer->content.hides_everything) image->layers.clear();
    // Overlay takes no folder twice. All that is in the lower one is in the upper one too, and hidden by it.
    std::erase(image->layers, layers_.tree(blob.digest));
    image->layers.insert(image->layers.begin(), layers_.tree(blob.digest));
    for (const auto& [what, count] : layer->content.notes) image->notes[what] += count;
  }
  ::futimens(lock->descriptor(), nullptr);
  image->hold = std::move(*lock);
  return image;
}

ImageResult<void> ImageRecords::add(const WorkFolder& work, const std::string& digest, std::string_view manifest,
                                    std::string_view config) const {
  const std::string making = work.path() + "/record";
  const std::string place = folder_.image(digest_digits(digest));
  if (const int error = remove_tree(making); error != 0) return std::unexpected(image_errno(error, making));
  if (::mkdir(making.c_str(), 0700) != 0) return std::unexpected(image_errno(errno, making));
  if (auto written = write_text(making + "/manifest.json", manifest); !written) return written;
  if (auto written = write_text(making + "/config.json", config); !written) return written;
  if (auto written = write_text(making + "/names", ""); !written) return written;
  if (auto written = write_text(making + "/used", ""); !written) return written;
  if (::rename(making.c_str(), place.c_str()) == 0) return {};
  if (errno != EEXIST && errno != ENOTEMPTY) return std::unexpected(image_errno(errno, place));
  // One that is damaged, or that another has written a moment before. Its locks may be held by those who use it: they
  // stay.
  for (const char* name : {"/manifest.json", "/config.json", "/names", "/used"}) {
    const std::string file = place + name;
    const bool stays = std::string_view(name) == "/names" || std::string_view(name) == "/used";
    if (stays && ::access(file.c_str(), F_OK) == 0) continue;
    if (::rename((making + name).c_str(), file.c_str()) != 0) return std::unexpected(image_errno(errno, file));
  }
  return {};
}

void ImageRecords::add_name(const std::string& digest, const std::string& name) const {
  const std::string path = folder_.image(digest_digits(digest)) + "/names";
  const auto text = read_text(path);
  if (!text || text->size() > kMostNames || name.find('\n') != std::string::npos) return;
  const auto known = lines_of(*text);
  if (std::ranges::find(known, name) != known.end()) return;
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const std::string line = name + "\n";
  // Only for people to read: an image whose name is lost is found by its digest.
  if (file && ::write(file.get(), line.data(), line.size()) < 0) return;
}

void ImageRecords::add_index(const WorkFolder& work, const std::string& index_digest,
                             const std::string& manifest_digest) const {
  const std::string making = work.path() + "/index";
  ::unlink(making.c_str());
  if (::symlink(digest_digits(manifest_digest).c_str(), making.c_str()) != 0) return;
  ::rename(making.c_str(), folder_.index(digest_digits(index_digest)).c_str());
}

std::vector<ImageRecord> ImageRecords::all() const {
  std::vector<ImageRecord> out;
  for (const std::string& name : names_in(folder_.images())) {
    const auto text = read_text(folder_.image(name) + "/manifest.json");
    auto manifest = text ? manifest_from_json(*text) : image_fail(ImageFault::corrupt, {});
    // One that cannot be read is one that nobody uses: it is listed, so that it goes.
    ImageRecord record{concat("sha256:", name), manifest ? std::move(*manifest) : ImageManifest{}, {}, 0};
    if (!is_image_digest(record.digest)) continue;
    struct stat status{};  // of one that has no such file: as if it was used long ago
    (void)::stat(folder_.used(name).c_str(), &status);
    if (const auto names = read_text(folder_.image(name) + "/names"); names) record.names = lines_of(*names);
    record.used_ms = static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1000 + status.st_mtim.tv_nsec / 1'000'000;
    out.push_back(std::move(record));
  }
  return out;
}

bool ImageRecords::in_use(const std::string& digest) const {
  const std::string path = folder_.used(digest_digits(digest));
  return ::access(path.c_str(), F_OK) == 0 && !FileLock::try_take(path, LockKind::exclusive, FileLock::IfAbsent::leave);
}

void ImageRecords::touch(const std::string& digest) const {
  ::utimensat(AT_FDCWD, folder_.used(digest_digits(digest)).c_str(), nullptr, 0);
}

bool ImageRecords::remove(const WorkFolder& work, const std::string& digest) const {
  const std::string digits = digest_digits(digest);
  const auto lock = FileLock::try_take(folder_.used(digits), LockKind::exclusive, FileLock::IfAbsent::make);
  if (!lock) return ::access(folder_.used(digits).c_str(), F_OK) != 0;
  const std::string gone = concat(work.path(), "/gone");
  remove_tree(gone);
  if (::rename(folder_.image(digits).c_str(), gone.c_str()) != 0) return false;
  remove_tree(gone);
  for (const std::string& index : names_in(folder_.indexes())) {
    if (manifest_of(concat("sha256:", index)) == digest) ::unlink(folder_.index(index).c_str());
  }
  return true;
}

}  // namespace drover
