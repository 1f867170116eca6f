#include "accel/nvidia_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "accel/elf_library.h"
#include "accel/ld_cache.h"
#include "base/text.h"

namespace drover {
namespace {

using enum NvidiaCapabilities::Capability;

struct CapabilityName {
  std::string_view name;
  unsigned bits;
};
constexpr std::array<CapabilityName, 8> kCapabilityNames = {{{"compute", compute},
                                                             {"compat32", compat32},
                                                             {"graphics", graphics},
                                                             {"utility", utility},
                                                             {"video", video},
                                                             {"display", display},
                                                             {"ngx", ngx},
                                                             {"all", all}}};

/// What a library is needed for, by its name without version. What no table knows, a later driver may need anywhere
/// but in nvidia-smi.
struct LibraryUse {
  std::string_view name;
  unsigned uses;
};
constexpr LibraryUse kLibraries[] = {
    {"libnvidia-ml", utility},
    {"libnvidia-cfg", utility},
    {"libnvidia-nscq", utility},
    {"libcuda", compute},
    {"libcudadebugger", compute},
    {"libnvidia-opencl", compute},
    {"libnvidia-gpucomp", compute | graphics | video},
    {"libnvidia-ptxjitcompiler", compute},
    {"libnvidia-fatbinaryloader", compute},
    {"libnvidia-allocator", compute | graphics},
    {"libnvidia-compiler", compute},
    {"libnvidia-pkcs11", compute},
    {"libnvidia-pkcs11-openssl3", compute},
    {"libnvidia-nvvm", compute},
    {"libnvidia-nvvm70", compute},
    {"libnvidia-tileiras", compute},
    {"libvdpau_nvidia", video},
    {"libnvidia-encode", video},
    {"libnvidia-opticalflow", video},
    {"libnvcuvid", video},
    {"libnvidia-ngx", ngx},
    {"libnvidia-egl-gbm", graphics | display},
    {"libnvidia-egl-wayland", graphics | display},
    {"libnvidia-eglcore", graphics | display},
    {"libnvidia-fbc", graphics | video | display},
    {"libnvidia-glcore", graphics | display},
    {"libnvidia-glsi", graphics | display},
    {"libnvidia-glvkspirv", graphics | display},
    {"libnvidia-gtk2", display},
    {"libnvidia-gtk3", display},
    {"libnvidia-rtcore", graphics},
    {"libnvidia-tls", graphics | display},
    {"libnvidia-vulkan-producer", graphics},
    {"libnvoptix", graphics},
    {"libGLX_nvidia", graphics | display},
    {"libEGL_nvidia", graphics | display},
    {"libGLESv1_CM_nvidia", graphics | display},
    {"libGLESv2_nvidia", graphics | display},
    {"libglxserver_nvidia", display},
};

constexpr std::string_view kKnownFolders[] = {
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/lib64",
    "/lib",
    "/usr/lib/i386-linux-gnu",
    "/usr/lib32",
    "/usr/lib/nvidia",
    "/usr/lib64/nvidia",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/opt/nvidia/lib64",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
};

constexpr std::string_view kProgramFolders[] = {"/usr/bin", "/usr/sbin",     "/bin", "/sbin", "/usr/local/nvidia/bin",
                                                "/opt/bin", "/usr/local/bin"};

struct ProgramUse {
  std::string_view name;
  unsigned uses;
};
constexpr ProgramUse kPrograms[] = {
    {"nvidia-smi", utility},
    {"nvidia-debugdump", utility},
    {"nvidia-persistenced", utility},
    {"nvidia-cuda-mps-control", compute},
    {"nvidia-cuda-mps-server", compute},
    {"nvidia-imex", compute},
    {"nvidia-imex-ctl", compute},
};

constexpr std::string_view kSockets[] = {"/run/nvidia-persistenced/socket", "/run/nvidia-fabricmanager/socket",
                                         "/tmp/nvidia-mps"};

constexpr std::string_view kGraphicsData[] = {
    "/usr/share/glvnd/egl_vendor.d/10_nvidia.json",
    "/etc/glvnd/egl_vendor.d/10_nvidia.json",
    "/usr/share/vulkan/icd.d/nvidia_icd.json",
    "/etc/vulkan/icd.d/nvidia_icd.json",
    "/usr/share/vulkan/icd.d/nvidia_layers.json",
    "/etc/vulkan/icd.d/nvidia_layers.json",
    "/usr/share/vulkan/implicit_layer.d/nvidia_layers.json",
    "/etc/vulkan/implicit_layer.d/nvidia_layers.json",
    "/usr/share/egl/egl_external_platform.d/10_nvidia_wayland.json",
    "/usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json",
    "/usr/share/nvidia/nvoptix.bin",
};

/// "libcuda.so.535.104.05" in two; empty parts: it is not a library with a version of a driver.
struct VersionedName {
  std::string_view name;
  std::string_view version;
};

VersionedName versioned(std::string_view file) {
  const std::size_t at = file.find(".so.");
  if (!file.starts_with("lib") || at == std::string_view::npos) return {};
  const std::string_view version = file.substr(at + 4);
  const bool is_version = version.find('.') != std::string_view::npos && version.front() != '.' &&
                          version.find_first_not_of("0123456789.") == std::string_view::npos;
  return is_version ? VersionedName{file.substr(0, at), version} : VersionedName{};
}

unsigned uses_of(std::string_view library) {
  for (const LibraryUse& it : kLibraries) {
    if (it.name == library) return it.uses;
  }
  return compute | graphics | video | display | ngx;
}

/// A folder and what is in it, read once.
struct ListedFolder {
  std::string path;  // without symlinks
  std::vector<RootFolder::Entry> entries;
  std::map<std::string, std::uint32_t> cached;  // names that the linker's cache has of it, with their flags

  bool has(std::string_view name, mode_t type) const {
    const auto it = std::ranges::lower_bound(entries, name, {}, &RootFolder::Entry::name);
    return it != entries.end() && it->name == name && it->type == type;
  }
};

std::string_view folder_of(std::string_view path) {
  return path.substr(0, path.rfind('/'));
}

/// Folders, each once, that may have the driver's libraries: first where the linker finds them.
std::vector<ListedFolder> candidate_folders(const RootFolder& root) {
  LdCache cache;
  if (auto read = read_ld_cache(root.read("/etc/ld.so.cache").value_or(""))) cache = std::move(*read);
  std::vector<std::string> named;
  for (const LdCache::Entry& entry : cache.entries) {
    const bool is_drivers = entry.name.starts_with("libcuda.so.") || entry.name.starts_with("libnvidia-ml.so.");
    const std::string_view folder = folder_of(entry.path);
    if (is_drivers && std::ranges::find(named, folder) == named.end()) named.emplace_back(folder);
  }
  const bool is_cached = !named.empty();
  if (!is_cached) named.assign(std::begin(kKnownFolders), std::end(kKnownFolders));
  std::vector<ListedFolder> folders;
  for (const std::string& name : named) {
    std::string real = root.real_path(name);
    if (real.empty()) continue;
    auto it = std::ranges::find(folders, real, &ListedFolder::path);
    if (it == folders.end()) {
      folders.push_back({.path = real, .entries = root.entries_in(real), .cached = {}});
      it = std::prev(folders.end());
    }
    for (const LdCache::Entry& entry : cache.entries) {
      if (is_cached && folder_of(entry.path) == name) it->cached.try_emplace(entry.name, entry.flags);
    }
  }
  return folders;
}

std::string library_version(const std::vector<ListedFolder>& folders) {
  for (const std::string_view library : {"libcuda", "libnvidia-ml"}) {
    for (const ListedFolder& folder : folders) {
      for (const RootFolder::Entry& file : folder.entries) {
        if (versioned(file.name).name == library) return std::string(versioned(file.name).version);
      }
    }
  }
  return {};
}

class FileCollector {
 public:
  FileCollector(const RootFolder& root, NvidiaCapabilities wanted, NvidiaFiles& into)
      : root_(root), wanted_(wanted), into_(into) {}

  void libraries_in(const ListedFolder& folder) {
    for (const RootFolder::Entry& file : folder.entries) {
      if (file.type != S_IFREG) continue;
      const auto [name, version] = versioned(file.name);
      // The compiler of shaders for older GPUs has a version of its own.
      const bool is_drivers = version == into_.version || name == "libnvidia-nvvm70";
      if (is_drivers && wanted_.has(uses_of(name))) add_library(folder, file.name, name);
    }
  }

 private:
  void add_library(const ListedFolder& folder, const std::string& file, std::string_view name) {
    const std::string path = concat(folder.path, "/", file);
    auto library = cached_library(folder, file, name);
    if (!library) {
      const Descriptor opened = root_.open_at(path, O_RDONLY);
      if (opened) library = read_elf_library(opened.get());
    }
    if (library && !library->is_64_bit && !wanted_.has(compat32)) return;
    into_.libraries.push_back(path);
    if (std::ranges::find(into_.folders, folder.path) == into_.folders.end()) into_.folders.push_back(folder.path);
    const std::string plain = concat(name, ".so");
    const std::string soname = library && !library->soname.empty() ? library->soname : plain + ".1";
    const auto add = [&](const std::string& link, const std::string& target) {
      if (link != target) into_.links.push_back({concat(folder.path, "/", link), target});
    };
    add(soname, file);
    const bool is_always = name == "libcuda" || name == "libnvidia-opticalflow";
    if (is_always || folder.has(plain, S_IFLNK)) add(plain, soname);
    if (name == "libGLX_nvidia") add("libGLX_indirect.so.0", file);
  }

  /// What the linker's cache knows of a library need not be read from it, where the folder still has it like that.
  static std::optional<ElfLibrary> cached_library(const ListedFolder& folder, const std::string& file,
                                                  std::string_view name) {
    const std::string begin = concat(name, ".so.");
    std::optional<ElfLibrary> found;
    for (auto it = folder.cached.lower_bound(begin); it != folder.cached.end() && it->first.starts_with(begin); ++it) {
      const bool is_there = it->first == file || folder.has(it->first, S_IFLNK);
      if (!is_there || found) return std::nullopt;
      found = ElfLibrary{.soname = it->first, .cache_flags = it->second, .is_64_bit = is_64_bit(it->second)};
    }
    return found;
  }

  const RootFolder& root_;
  NvidiaCapabilities wanted_;
  NvidiaFiles& into_;
};

bool is_elf(const RootFolder& root, const std::string& path) {
  const Descriptor file = root.open_at(path, O_RDONLY | O_CLOEXEC);
  std::array<char, 4> magic{};
  return file && ::read(file.get(), magic.data(), magic.size()) == 4 &&
         std::string_view(magic.data(), magic.size()) ==
             "\x7f"
             "ELF";
}

/// Those that are there, and of those that are the same, the first.
std::vector<std::string> find_program_folders(const RootFolder& root) {
  std::vector<std::string> out, seen;
  for (const std::string_view folder : kProgramFolders) {
    std::string real = root.real_path(folder);
    if (real.empty() || std::ranges::find(seen, real) != seen.end()) continue;
    seen.push_back(std::move(real));
    out.emplace_back(folder);
  }
  return out;
}

/// Empty: there is none. A script is taken only if no folder has the program: it may be a wrapper, and what it calls is
/// not where it says in a container.
std::string find_program_file(const RootFolder& root, const std::vector<std::string>& folders, std::string_view name) {
  std::string first;
  for (const std::string& folder : folders) {
    std::string path = concat(folder, "/", name);
    if (!root.has(path)) continue;
    if (is_elf(root, path)) return path;
    if (first.empty()) first = std::move(path);
  }
  return first;
}

}  // namespace

Result<NvidiaCapabilities> NvidiaCapabilities::parse(std::string_view list) {
  unsigned bits = 0;
  while (!list.empty()) {
    const std::string_view word = trimmed(take_until(list, ','));
    if (word.empty()) continue;
    const auto known = std::ranges::find(kCapabilityNames, word, &CapabilityName::name);
    if (known == kCapabilityNames.end()) {
      return fail(ErrorCode::bad_input, concat("'", word, "' is not a driver capability"),
                  "set NVIDIA_DRIVER_CAPABILITIES to a comma list of compute, compat32, graphics, utility, video, "
                  "display and ngx, or to all");
    }
    bits |= known->bits;
  }
  return NvidiaCapabilities(bits);
}

NvidiaFiles find_nvidia_files(const RootFolder& root, NvidiaCapabilities wanted) {
  NvidiaFiles files;
  const std::vector<ListedFolder> folders = candidate_folders(root);
  files.version = library_version(folders);
  if (files.version.empty()) return files;
  FileCollector collector(root, wanted, files);
  for (const ListedFolder& folder : folders) {
    collector.libraries_in(folder);
    const std::string vdpau = folder.path + "/vdpau";
    if (folder.has("vdpau", S_IFDIR)) collector.libraries_in({vdpau, root.entries_in(vdpau), {}});
  }
  const std::vector<std::string> program_folders = find_program_folders(root);
  for (const auto& [name, uses] : kPrograms) {
    if (!wanted.has(uses)) continue;
    if (std::string path = find_program_file(root, program_folders, name); !path.empty())
      files.programs.push_back(std::move(path));
  }
  const std::string firmware = concat("/lib/firmware/nvidia/", files.version);
  for (const std::string& name : root.names_in(firmware)) {
    if (name.starts_with("gsp") && name.ends_with(".bin")) files.data.push_back(concat(firmware, "/", name));
  }
  if (wanted.has(graphics | display)) {
    for (const std::string_view path : kGraphicsData) {
      if (root.has(path)) files.data.emplace_back(path);
    }
  }
  for (const std::string_view path : kSockets) {
    if (root.has(path)) files.sockets.emplace_back(path);
  }
  return files;
}

}  // namespace drover
