#include "run/image/layer_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>

#include "base/text.h"
#include "base/units.h"
#include "run/image/content_digest.h"
#include "run/remove_tree.h"
#include "wire/document.h"

namespace drover {
namespace json = boost::json;
namespace {

std::string to_json(const StoredLayer& layer) {
  json::object notes;
  for (const auto& [what, count] : layer.content.notes) notes[what] = count;
  return json::serialize(json::object{{"diff_id", layer.diff_id},
                                      {"bytes", layer.content.bytes},
                                      {"entries", layer.content.entries},
                                      {"hides_everything", layer.content.hides_everything},
                                      {"notes", std::move(notes)}});
}

std::uint64_t number_at(const Node& object, std::string_view name) {
  const Node* found = object.find(name);
  return found == nullptr ? 0 : parse_number(found->text).value_or(0);
}

std::optional<StoredLayer> from_json(std::string_view text) {
  const auto node = node_from_json(text);
  if (!node || node->find("diff_id") == nullptr) return std::nullopt;
  StoredLayer out;
  out.diff_id = node->find("diff_id")->text;
  out.content.bytes = number_at(*node, "bytes");
  out.content.entries = number_at(*node, "entries");
  if (const Node* hides = node->find("hides_everything"); hides != nullptr)
    out.content.hides_everything = hides->text == "true";
  if (const Node* notes = node->find("notes"); notes != nullptr) {
    for (const Node::Field& note : notes->fields)
      out.content.notes[note.name] = parse_number(note.value.text).value_or(0);
  }
  return out;
}

/// Made anew, for its owner alone until it is finished.
ImageResult<Descriptor> fresh_folder(const std::string& path, mode_t mode) {
  if (const int error = remove_tree(path); error != 0) return std::unexpected(image_errno(error, path));
  if (::mkdir(path.c_str(), 0700) != 0) return std::unexpected(image_errno(errno, path));
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fchmod(folder.get(), mode) != 0) return std::unexpected(image_errno(errno, path));
  return folder;
}

std::string unpacked(const WorkFolder& work, const std::string& digest) {
  return concat(work.path(), "/new-", digest_digits(digest));
}

}  // namespace

std::string LayerStore::tree(const std::string& digest) const {
  return folder_.layer(digest_digits(digest)) + "/tree";
}

std::optional<StoredLayer> LayerStore::find(const std::string& digest) const {
  if (::access(tree(digest).c_str(), F_OK) != 0) return std::nullopt;
  const auto text = read_text(folder_.layer(digest_digits(digest)) + "/layer.json");
  if (!text) return std::nullopt;
  return from_json(*text);
}

ImageResult<StoredLayer> LayerStore::unpack(const WorkFolder& work, Descriptor blob, const LayerDemand& demand,
                                            const std::function<void(std::uint64_t)>& read,
                                            const std::stop_token& stop) const {
  const std::string making = unpacked(work, demand.digest);
  auto outer = fresh_folder(making, 0700);
  if (!outer) return pass(outer);
  auto root = fresh_folder(making + "/tree", 0755);
  if (!root) return pass(root);
  auto trash = fresh_folder(work.path() + "/trash", 0700);
  if (!trash) return pass(trash);
  auto content = unpack_layer(std::move(blob), std::move(*root), std::move(*trash), marks_, demand, read, stop);
  if (!content) return pass(content);
  StoredLayer layer{demand.diff_id, std::move(*content)};
  if (auto written = write_text(making + "/layer.json", to_json(layer)); !written) return pass(written);
  return layer;
}

ImageResult<void> LayerStore::publish(const WorkFolder& work, const std::vector<std::string>& digests) const {
  if (digests.empty()) return {};
  // All files of all layers at once: one by one it would take longer than to unpack them, and on a busy disk each sync
  // waits for what others write as well.
  const Descriptor folder(::open(work.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::syncfs(folder.get()) != 0) return std::unexpected(image_errno(errno, work.path()));
  for (const std::string& digest : digests) {
    const std::string place = folder_.layer(digest_digits(digest));
    remove(work, digest);  // a damaged one
    if (::rename(unpacked(work, digest).c_str(), place.c_str()) != 0) return std::unexpected(image_errno(errno, place));
  }
  return {};
}

std::vector<std::string> LayerStore::all() const {
  std::vector<std::string> out;
  for (const std::string& name : names_in(folder_.layers())) {
    if (std::string digest = concat("sha256:", name); is_image_digest(digest)) out.push_back(std::move(digest));
  }
  return out;
}

void LayerStore::remove(const WorkFolder& work, const std::string& digest) const {
  const std::string digits = digest_digits(digest);
  const std::string gone = concat(work.path(), "/", digits);
  if (::rename(folder_.layer(digits).c_str(), gone.c_str()) == 0) remove_tree(gone);
}

}  // namespace drover
