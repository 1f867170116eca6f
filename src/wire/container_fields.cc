#include "wire/container_fields.h"

#include <boost/json.hpp>

#include "base/text.h"
#include "wire/capabilities.h"
#include "wire/container_words.h"
#include "wire/image_reference.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::pair<ContainerRuntime, std::string_view> kRuntimes[] = {{ContainerRuntime::any, "any"},
                                                                       {ContainerRuntime::crun, "crun"},
                                                                       {ContainerRuntime::runc, "runc"},
                                                                       {ContainerRuntime::docker, "docker"}};
constexpr std::pair<ContainerNetwork, std::string_view> kNetworks[] = {{ContainerNetwork::host, "host"},
                                                                       {ContainerNetwork::none, "none"}};
constexpr std::pair<ContainerReset, std::string_view> kResets[] = {{ContainerReset::overlay, "overlay"},
                                                                   {ContainerReset::none, "none"}};

template <class Value, std::size_t N>
std::string_view word_of(Value value, const std::pair<Value, std::string_view> (&words)[N]) {
  for (const auto& [each, word] : words) {
    if (each == value) return word;
  }
  return {};
}

template <class Value, std::size_t N>
void read_word(JobReader& reader, std::string_view name, Value& out,
               const std::pair<Value, std::string_view> (&words)[N]) {
  std::string said;
  reader.text(name, said);
  for (const auto& [each, word] : words) {
    if (said == word) out = each;
  }
}

/// Each text of a list, by a reader of its own.
template <class Part>
void read_parts(JobReader& reader, std::string_view name, std::vector<Part>& out,
                Result<Part> (*from_text)(std::string_view)) {
  std::vector<std::string> texts;
  reader.texts(name, texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto part = from_text(texts[i]);
    if (part) {
      out.push_back(std::move(*part));
    } else {
      reader.complain_of_text(name, i, part.error());
    }
  }
}

void read_rights(JobReader& reader, std::string_view name, std::vector<std::string>& out) {
  reader.texts(name, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (capability_named(out[i])) continue;
    reader.complain_of_text(name, i,
                            {ErrorCode::bad_input, "is not a known capability",
                             "use a name from capabilities(7), for example SYS_PTRACE; ALL means all of them"});
  }
}

// Whoever reads it, reads it elsewhere.
void check_image_path(JobReader& reader, const std::string& image) {
  const auto reference = ImageReference::parse(image);
  if (!reference || !reference->is_local_path() || reference->path.starts_with('/')) return;
  reader.complain(*reader.find("image"), "image", concat("has the path '", reference->path, "', which is not absolute"),
                  concat("write the absolute path: ", image.substr(0, image.find(':') + 1), "/…/", reference->path));
}

template <class Part>
json::array texts_of(const std::vector<Part>& parts, std::string (*to_text)(const Part&)) {
  json::array out;
  for (const Part& part : parts) out.emplace_back(to_text(part));
  return out;
}

json::array texts_of(const std::vector<std::string>& texts) {
  json::array out;
  for (const std::string& text : texts) out.emplace_back(text);
  return out;
}

}  // namespace

void read_container(JobReader& reader, std::optional<ContainerOptions>& out) {
  ContainerOptions options;
  reader.text("image", options.image);
  check_image_path(reader, options.image);
  reader.text("image_digest", options.digest);
  read_word(reader, "runtime", options.runtime, kRuntimes);
  if (std::vector<std::string> words; reader.texts("entrypoint", words)) options.entrypoint = std::move(words);
  reader.text("user", options.user);
  reader.text("hostname", options.hostname);
  read_parts(reader, "mounts", options.mounts, mount_from_text);
  read_parts(reader, "tmpfs", options.tmpfs, tmpfs_from_text);
  read_parts(reader, "devices", options.devices, device_from_text);
  read_parts(reader, "ulimits", options.ulimits, ulimit_from_text);
  read_rights(reader, "cap_add", options.add_capabilities);
  read_rights(reader, "cap_drop", options.drop_capabilities);
  reader.size("shm_size", options.shm_bytes);
  reader.size("disk", options.disk_bytes);
  read_word(reader, "network", options.network, kNetworks);
  reader.flag("read_only", options.read_only);
  reader.flag("privileged", options.privileged);
  reader.flag("init", options.init);
  bool reuse = false;
  ContainerReuse reused;
  reader.flag("reuse", reuse);
  read_word(reader, "reset", reused.reset, kResets);
  reader.whole("reuse_limit", reused.most_items);
  if (reuse) options.reuse = reused;
  for (const std::string_view name : {"reset", "reuse_limit"}) {
    if (reader.has(name) && !reuse && !reader.has("definition")) {
      reader.complain(*reader.find(name), name, "requires container reuse, which is off",
                      "add reuse: true, or remove the field");
    }
  }

  std::string_view first;
  for (const JobField& field : job_fields()) {
    if (is_of_container(field.name) && field.name != "image" && reader.has(field.name) && first.empty())
      first = field.name;
  }
  const bool says_image = reader.has("image");
  if (!first.empty() && !says_image && !reader.has("definition")) {
    reader.complain(*reader.find(first), first, "requires a container, but 'image' is missing",
                    "add image: NAME, or remove the field");
  }
  if (says_image || !first.empty()) out = std::move(options);
}

json::object container_to_json(const ContainerOptions& options, const std::set<std::string, std::less<>>& said) {
  const ContainerOptions usual;
  json::object out;
  const auto put = [&](const char* name, bool is_unusual, json::value value) {
    if (is_unusual || said.contains(name)) out[name] = std::move(value);
  };
  put("image", !options.image.empty(), json::string(options.image));
  put("image_digest", !options.digest.empty(), json::string(options.digest));
  put("runtime", options.runtime != usual.runtime, json::string(word_of(options.runtime, kRuntimes)));
  if (options.entrypoint) put("entrypoint", true, texts_of(*options.entrypoint));
  put("user", !options.user.empty(), json::string(options.user));
  put("hostname", !options.hostname.empty(), json::string(options.hostname));
  put("mounts", !options.mounts.empty(), texts_of(options.mounts, mount_to_text));
  put("tmpfs", !options.tmpfs.empty(), texts_of(options.tmpfs, tmpfs_to_text));
  put("devices", !options.devices.empty(), texts_of(options.devices, device_to_text));
  put("ulimits", !options.ulimits.empty(), texts_of(options.ulimits, ulimit_to_text));
  put("cap_add", !options.add_capabilities.empty(), texts_of(options.add_capabilities));
  put("cap_drop", !options.drop_capabilities.empty(), texts_of(options.drop_capabilities));
  put("shm_size", options.shm_bytes != usual.shm_bytes, json::string(concat(options.shm_bytes, "B")));
  if (options.disk_bytes > 0) put("disk", true, json::string(concat(options.disk_bytes, "B")));
  put("network", options.network != usual.network, json::string(word_of(options.network, kNetworks)));
  put("read_only", options.read_only, options.read_only);
  put("privileged", options.privileged, options.privileged);
  put("init", !options.init, options.init);
  put("reuse", options.reuse.has_value(), options.reuse.has_value());
  const ContainerReuse reuse = options.reuse.value_or(ContainerReuse{});
  put("reset", reuse.reset != ContainerReuse{}.reset, json::string(word_of(reuse.reset, kResets)));
  put("reuse_limit", reuse.most_items != ContainerReuse{}.most_items, reuse.most_items);
  return out;
}

Result<ContainerOptions> container_from_json(const json::object& stored) {
  const auto node = node_from_json(json::serialize(stored));
  std::optional<ContainerOptions> options;
  if (node) {
    JobReader reader(*node, Face::api);
    read_container(reader, options);
  }
  const bool has_bad_digest = options && options->digest.empty() && stored.contains("image_digest");
  // Without its digest another image might be run than the one that was meant.
  if (!options || has_bad_digest) return fail(ErrorCode::damaged, "a stored definition has an invalid container");
  return std::move(*options);
}

}  // namespace drover
