#include "run/image/manifest.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "wire/document.h"

namespace drover {
namespace {

using Kind = Node::Kind;

std::string text_of(const Node* node) {
  return node != nullptr && node->kind == Kind::text ? node->text : std::string();
}

std::string text_at(const Node& object, std::string_view name) {
  return text_of(object.find(name));
}

std::vector<std::string> texts_at(const Node& object, std::string_view name) {
  std::vector<std::string> out;
  const Node* list = object.find(name);
  if (list == nullptr || list->kind != Kind::list) return out;
  for (const Node& item : list->items) out.push_back(text_of(&item));
  return out;
}

/// What decides how an image runs is what it should be, or is not there.
ImageResult<void> check_kinds(const Node& config) {
  const auto wrong = [](const char* name, const char* kind) {
    return image_fail(ImageFault::corrupt, concat("its configuration is invalid: ", name, " must be a ", kind),
                      "build or push it again");
  };
  for (const char* name : {"User", "WorkingDir", "StopSignal"}) {
    const Node* found = config.find(name);
    if (found != nullptr && found->kind != Kind::text && found->kind != Kind::null) return wrong(name, "string");
  }
  for (const char* name : {"Entrypoint", "Cmd", "Env"}) {
    const Node* found = config.find(name);
    if (found == nullptr || found->kind == Kind::null) continue;
    const bool is_fine = found->kind == Kind::list &&
                         std::ranges::all_of(found->items, [](const Node& it) { return it.kind == Kind::text; });
    if (!is_fine) return wrong(name, "list of strings");
  }
  return {};
}

std::vector<std::string> names_at(const Node& object, std::string_view name) {
  std::vector<std::string> out;
  const Node* found = object.find(name);
  if (found == nullptr || found->kind != Kind::object) return out;
  for (const Node::Field& field : found->fields) out.push_back(field.name);
  return out;
}

ImageResult<Node> object_from(std::string_view json, std::string_view what) {
  auto node = node_from_json(json);
  if (!node) return image_fail(ImageFault::corrupt, concat("its ", what, " is not JSON"), "build or push it again");
  if (node->kind != Kind::object) {
    return image_fail(ImageFault::corrupt, concat("its ", what, " is not a JSON object"), "build or push it again");
  }
  return std::move(*node);
}

ImageResult<Blob> blob_from(const Node* node, std::string_view what) {
  Blob blob;
  if (node == nullptr || node->kind != Kind::object) {
    return image_fail(ImageFault::corrupt, concat("its manifest has no ", what), "build or push it again");
  }
  blob.digest = text_at(*node, "digest");
  blob.media_type = text_at(*node, "mediaType");
  if (!is_image_digest(blob.digest)) {
    return image_fail(ImageFault::unsupported,
                      concat("the digest of its ", what, ", '", blob.digest, "', is not a sha256 digest"),
                      "push it with sha256 digests");
  }
  const Node* size = node->find("size");
  auto bytes = size == nullptr ? Result<std::uint64_t>(0) : parse_number(size->text);
  if (!bytes) {
    return image_fail(ImageFault::corrupt, concat("its ", what, " has an invalid size"), "build or push it again");
  }
  blob.bytes = *bytes;
  return blob;
}

Platform platform_from(const Node& object) {
  return {text_at(object, "os"), text_at(object, "architecture"), text_at(object, "variant")};
}

bool is_layer_type(std::string_view type) {
  if (type.empty()) return true;
  if (type.find("encrypted") != std::string_view::npos) return false;
  return type.starts_with("application/vnd.oci.image.layer.") ||
         type.starts_with("application/vnd.docker.image.rootfs.");
}

bool is_config_type(std::string_view type) {
  return type.empty() || type == "application/vnd.oci.image.config.v1+json" ||
         type == "application/vnd.docker.container.image.v1+json" || type == "application/octet-stream" ||
         type == "application/json";
}

}  // namespace

std::string Platform::text() const {
  return concat(os, "/", architecture, variant.empty() ? "" : "/", variant);
}

Platform this_platform() {
  constexpr std::array<std::array<std::string_view, 3>, 10> kKnown = {{
      {"x86_64", "amd64", ""},
      {"aarch64", "arm64", "v8"},
      {"armv7l", "arm", "v7"},
      {"armv6l", "arm", "v6"},
      {"i686", "386", ""},
      {"i386", "386", ""},
      {"ppc64le", "ppc64le", ""},
      {"s390x", "s390x", ""},
      {"riscv64", "riscv64", ""},
      {"loongarch64", "loong64", ""},
  }};
  utsname name{};
  ::uname(&name);
  const std::string_view machine = name.machine;
  for (const auto& [kernel, go, variant] : kKnown) {
    if (machine == kernel) return {"linux", std::string(go), std::string(variant)};
  }
  return {"linux", std::string(machine), {}};
}

std::string ImageIndex::platforms() const {
  std::string out;
  for (const IndexEntry& entry : entries) {
    if (entry.platform.architecture.empty() || !entry.is_image()) continue;
    out += concat(out.empty() ? "" : ", ", entry.platform.text());
  }
  return out;
}

std::uint64_t ImageManifest::compressed_bytes() const {
  std::uint64_t sum = 0;
  for (const Blob& layer : layers) sum += std::min(layer.bytes, UINT64_MAX - sum);
  return sum;
}

bool is_index(std::string_view json) {
  const auto node = node_from_json(json);
  if (!node || node->kind != Kind::object) return false;
  const Node* manifests = node->find("manifests");
  return manifests != nullptr && manifests->kind == Kind::list && node->find("layers") == nullptr;
}

ImageResult<ImageIndex> index_from_json(std::string_view json) {
  auto node = object_from(json, "index");
  if (!node) return pass(node);
  ImageIndex out;
  const Node* manifests = node->find("manifests");
  if (manifests == nullptr || manifests->kind != Kind::list) {
    return image_fail(ImageFault::corrupt, "its index lists no manifests", "build or push it again");
  }
  for (const Node& item : manifests->items) {
    auto blob = blob_from(&item, "manifest");
    if (!blob) return pass(blob);
    IndexEntry entry{std::move(*blob), {}, {}};
    if (const Node* platform = item.find("platform"); platform != nullptr) entry.platform = platform_from(*platform);
    if (const Node* notes = item.find("annotations"); notes != nullptr) {
      entry.name = text_at(*notes, "org.opencontainers.image.ref.name");
    }
    out.entries.push_back(std::move(entry));
  }
  return out;
}

ImageResult<ImageManifest> manifest_from_json(std::string_view json) {
  auto node = object_from(json, "manifest");
  if (!node) return pass(node);
  if (node->find("fsLayers") != nullptr) {
    return image_fail(ImageFault::unsupported, "its manifest uses Docker schema 1, which has no layer digests",
                      "push it again with a Docker version released after 2016");
  }
  auto config = blob_from(node->find("config"), "configuration");
  if (!config) return pass(config);
  ImageManifest out{std::move(*config), {}};
  if (!is_config_type(out.config.media_type)) {
    return image_fail(ImageFault::unsupported, concat("it is not a container image, but ", out.config.media_type),
                      "use an image that can be run");
  }
  const Node* layers = node->find("layers");
  if (layers == nullptr || layers->kind != Kind::list) {
    return image_fail(ImageFault::corrupt, "its manifest lists no layers", "build or push it again");
  }
  for (const Node& item : layers->items) {
    auto layer = blob_from(&item, "layer");
    if (!layer) return pass(layer);
    if (!is_layer_type(layer->media_type)) {
      return image_fail(ImageFault::unsupported,
                        concat("one of its layers is ", layer->media_type, ", which cannot be unpacked"),
                        "push it with layers in tar, gzip or zstd format");
    }
    out.layers.push_back(std::move(*layer));
  }
  return out;
}

ImageResult<ImageConfig> config_from_json(std::string_view json) {
  auto node = object_from(json, "configuration");
  if (!node) return pass(node);
  ImageConfig out;
  out.platform = platform_from(*node);
  if (const Node* root = node->find("rootfs"); root != nullptr) out.diff_ids = texts_at(*root, "diff_ids");
  const Node* config = node->find("config");
  if (config == nullptr || config->kind != Kind::object) return out;
  if (auto checked = check_kinds(*config); !checked) return pass(checked);
  out.entrypoint = texts_at(*config, "Entrypoint");
  out.command = texts_at(*config, "Cmd");
  out.environment = texts_at(*config, "Env");
  out.user = text_at(*config, "User");
  out.working_folder = text_at(*config, "WorkingDir");
  out.stop_signal = text_at(*config, "StopSignal");
  out.exposed_ports = names_at(*config, "ExposedPorts");
  out.volumes = names_at(*config, "Volumes");
  if (const Node* labels = config->find("Labels"); labels != nullptr) {
    for (const Node::Field& label : labels->fields) out.labels.insert_or_assign(label.name, text_of(&label.value));
  }
  return out;
}

ImageResult<IndexEntry> choose(const ImageIndex& index, const Platform& machine) {
  const IndexEntry* best = nullptr;
  for (const IndexEntry& entry : index.entries) {
    const Platform& is = entry.platform;
    if (is.os != machine.os || is.architecture != machine.architecture) continue;
    // Of arm there are several: the same, else the oldest of those listed, which the newer ones run as well.
    if (best == nullptr || is.variant == machine.variant ||
        (best->platform.variant != machine.variant && is.variant < best->platform.variant)) {
      best = &entry;
    }
  }
  if (best != nullptr) return *best;
  // Who has only one need not say what it is for: its configuration does, or an index that it is.
  std::vector<const IndexEntry*> unsaid;
  for (const IndexEntry& entry : index.entries) {
    if (entry.platform.architecture.empty()) unsaid.push_back(&entry);
  }
  if (unsaid.size() == 1) return *unsaid.front();
  if (std::ranges::none_of(index.entries, &IndexEntry::is_image))
    return image_fail(ImageFault::missing, "its index lists no image", "build or push it again");
  if (unsaid.size() > 1) {
    return image_fail(ImageFault::unsupported, concat("its index lists ", unsaid.size(), " images without a platform"),
                      "select one of them by its digest");
  }
  return image_fail(ImageFault::wrong_architecture,
                    concat("not available for this platform (", machine.text(), "), only for ", index.platforms()),
                    "use an image for this architecture, or machines with the image's architecture");
}

ImageResult<void> check_platform(const Platform& image, const Platform& machine) {
  const bool os_fits = image.os.empty() || image.os == machine.os;
  if (os_fits && (image.architecture.empty() || image.architecture == machine.architecture)) return {};
  return image_fail(ImageFault::wrong_architecture,
                    concat("it is for ", image.text(), ", but this machine is ", machine.text()),
                    "use an image for this architecture, or machines with the image's architecture");
}

}  // namespace drover
