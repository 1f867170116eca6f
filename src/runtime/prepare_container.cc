#include "runtime/prepare_container.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "accel/elf_library.h"
#include "accel/ld_cache.h"
#include "base/text.h"
#include "runtime/bundle.h"
#include "wire/json_text.h"

namespace drover {
namespace {

constexpr const char* kCache = "/etc/ld.so.cache";
constexpr const char* kConfig = "/etc/ld.so.conf";
constexpr const char* kConfigFolder = "/etc/ld.so.conf.d";
constexpr const char* kOwnConfig = "/etc/ld.so.conf.d/00-drover.conf";
constexpr const char* kParams = "/proc/driver/nvidia/params";
constexpr std::string_view kMuslFolders = "/lib:/usr/local/lib:/usr/lib";

std::string_view name_in(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}
std::string_view folder_in(std::string_view path) {
  return path.substr(0, path.rfind('/'));
}

/// The image is as it is: it can be read-only, or have a file where a folder is expected.
bool is_image_at_fault(const Error& error) {
  return error.code == ErrorCode::read_only || error.code == ErrorCode::denied || error.code == ErrorCode::bad_input;
}

Result<void> unless_image(Result<void> done, std::vector<std::string>& notices) {
  if (done || !is_image_at_fault(done.error())) return done;
  notices.push_back(done.error().message);
  return {};
}

Result<void> update_cache(const RootFolder& root, const std::vector<std::string>& libraries) {
  std::vector<LdCache::Entry> added;
  for (const std::string& path : libraries) {
    const Descriptor file = root.open_at(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    const auto library = file ? read_elf_library(file.get()) : std::nullopt;
    if (library) added.push_back({library->cache_flags, std::string(name_in(path)), path, 0, 0});
  }
  if (added.empty()) return {};
  // Without a cache, or with one that glibc would not read either, the linker looks into its usual folders.
  LdCache cache = read_ld_cache(root.read(kCache).value_or("")).value_or(LdCache{});
  cache.put_first(std::move(added));
  return root.write(kCache, write_ld_cache(std::move(cache)));
}

/// For an ldconfig that is run in the container later.
Result<void> add_folders(const RootFolder& root, const std::vector<std::string>& folders) {
  std::string text;
  for (const std::string& folder : folders) text += folder + "\n";
  if (auto written = root.write(kOwnConfig, text); !written) return written;
  if (root.lstat(kConfig)) return {};
  return root.write(kConfig, concat("include ", kConfigFolder, "/*.conf\n"));
}

Result<void> add_musl_folders(const RootFolder& root, const std::vector<std::string>& folders) {
  constexpr std::string_view kLoader = "ld-musl-";
  for (const std::string& name : root.names_in("/lib")) {
    if (!name.starts_with(kLoader) || !name.ends_with(".so.1")) continue;
    const std::string path = concat("/etc/", name.substr(0, name.size() - 5), ".path");
    std::string text = root.read(path).value_or(std::string(kMuslFolders));
    const std::string before = text;
    for (const std::string& folder : folders) {
      std::string known = text;
      std::ranges::replace(known, '\n', ':');
      if (concat(":", known, ":").find(concat(":", folder, ":")) == std::string::npos) {
        text += concat(text.ends_with('\n') ? "" : "\n", folder);
      }
    }
    if (text == before) continue;
    if (auto written = root.write(path, text); !written) return written;
  }
  return {};
}

/// A file system in memory with one file, that nobody sees yet.
Descriptor file_in_memory(const std::string& name, std::string_view text) {
  const Descriptor context(::fsopen("tmpfs", FSOPEN_CLOEXEC));
  if (!context || ::fsconfig(context.get(), FSCONFIG_SET_STRING, "size", "64k", 0) != 0 ||
      ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return Descriptor();
  }
  const Descriptor memory(
      ::fsmount(context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
  if (!memory) return Descriptor();
  const Descriptor file(::openat(memory.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return Descriptor();
  return Descriptor(::open_tree(memory.get(), name.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

// NVIDIA's libraries make missing device nodes where the driver's parameters allow it. A file that hides them, mounted
// over them by descriptor, says that it does not.
void keep_device_nodes(const RootFolder& root, std::vector<std::string>& notices) {
  const std::string text = params_without_device_files(root.read(kParams).value_or(""));
  if (text.empty()) return;
  const Descriptor target = root.open_at(kParams, O_PATH | O_NOFOLLOW);
  struct statfs kind{};
  if (!target || ::fstatfs(target.get(), &kind) != 0 || kind.f_type != PROC_SUPER_MAGIC) return;
  const Descriptor hiding = file_in_memory("params", text);
  if (hiding &&
      ::move_mount(hiding.get(), "", target.get(), "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0) {
    return;
  }
  notices.push_back(errno_error(errno, "cannot hide ModifyDeviceFiles of the driver's parameters").message);
}

}  // namespace

Result<Preparation> parse_preparation(std::span<const char* const> words) {
  Preparation out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--keep-device-nodes") {
      out.keeps_device_nodes = true;
      continue;
    }
    if ((word != "--link" && word != "--library") || i + 1 == words.size()) {
      return fail(ErrorCode::bad_input, concat("unexpected argument '", word, "'"), "see drover-hook --help");
    }
    const std::string_view value = words[++i];
    const std::size_t colons = value.find("::");
    const std::string_view path =
        word == "--link" && colons != std::string_view::npos ? value.substr(colons + 2) : value;
    if ((word == "--link" && (colons == std::string_view::npos || colons == 0)) || !path.starts_with('/')) {
      return fail(ErrorCode::bad_input, concat("invalid value '", value, "' of ", word),
                  "write --link TARGET::/PATH and --library /PATH");
    }
    if (word == "--link") {
      out.links.push_back({std::string(path), std::string(value.substr(0, colons))});
    } else {
      out.libraries.emplace_back(path);
    }
  }
  return out;
}

Result<std::string> container_root(const std::string& state) {
  const auto text_in = [](const JsonValue& object, std::string_view name) {
    const JsonValue* value = object.find(name);
    return value != nullptr && value->is_string() ? value->string() : std::string();
  };
  const auto read = JsonText::parse(state);
  if (!read) {
    return fail(ErrorCode::bad_input,
                concat("the container's state on standard input is malformed: ", read.error().message),
                "run drover-hook as a hook of an OCI runtime");
  }
  const std::string bundle = text_in(read->root(), "bundle");
  std::string root = text_in(read->root(), "root");  // crun tells it
  if (root.empty()) {
    if (bundle.empty()) return fail(ErrorCode::bad_input, "the container's state names no bundle");
    auto text = read_whole_file(bundle + "/config.json");
    if (!text) return pass(text);
    const auto config = JsonText::parse(std::move(*text));
    const JsonValue* member = config ? config->root().find("root") : nullptr;
    if (member != nullptr) root = text_in(*member, "path");
    if (root.empty()) return fail(ErrorCode::bad_input, concat(bundle, "/config.json names no root.path"));
  }
  if (root.starts_with('/')) return root;
  if (bundle.empty()) return fail(ErrorCode::bad_input, "the container's state names a relative root and no bundle");
  return concat(bundle, "/", root);
}

std::string params_without_device_files(std::string_view params) {
  constexpr std::string_view kOn = "ModifyDeviceFiles: 1";
  std::string out;
  bool is_changed = false;
  while (!params.empty()) {
    const bool ends = params.find('\n') != std::string_view::npos;
    const std::string_view line = take_until(params, '\n');
    is_changed = is_changed || line == kOn;
    out += line == kOn ? "ModifyDeviceFiles: 0" : line;
    if (ends) out += '\n';
  }
  return is_changed ? out : std::string();
}

Result<void> prepare_container(const RootFolder& root, const Preparation& what, std::vector<std::string>& notices) {
  for (const NvidiaFiles::Link& link : what.links) {
    if (auto made = unless_image(root.link(link.path, link.target), notices); !made) return made;
  }
  std::vector<std::string> folders;
  for (const std::string& path : what.libraries) {
    const std::string folder(folder_in(path));
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
  }
  if (!what.libraries.empty()) {
    if (auto done = unless_image(update_cache(root, what.libraries), notices); !done) return done;
    if (auto done = unless_image(add_folders(root, folders), notices); !done) return done;
    if (auto done = unless_image(add_musl_folders(root, folders), notices); !done) return done;
  }
  if (what.keeps_device_nodes) keep_device_nodes(root, notices);
  return {};
}

}  // namespace drover
