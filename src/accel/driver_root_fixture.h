// A machine with NVIDIA GPUs in a folder, for tests. Device nodes are not needed: their numbers are in /proc/devices.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <elf.h>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace drover {

/// A folder that is removed at the end.
class FolderFixture {
 public:
  FolderFixture() {
    std::string name = std::filesystem::temp_directory_path() / "drover-accel-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~FolderFixture() { std::filesystem::remove_all(path_); }
  FolderFixture(const FolderFixture&) = delete;
  FolderFixture& operator=(const FolderFixture&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
    std::ofstream(*this / name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(*this / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void link(const std::string& name, const std::string& target) const {
    std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
    std::filesystem::create_symlink(target, *this / name);
  }
  /// A device node. Who is not root can make only those that are no device: 0:0.
  void node(const std::string& name, unsigned major_number, unsigned minor_number) const {
    std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
    if (::mknod((*this / name).c_str(), S_IFCHR | 0666, makedev(major_number, minor_number)) == 0) return;
    ASSERT_EQ(::mknod((*this / name).c_str(), S_IFCHR | 0666, makedev(0, 0)), 0) << std::strerror(errno);
  }

 private:
  std::string path_;
};

/// The least that is a shared library with a soname.
inline std::string tiny_library(const std::string& soname, std::uint16_t machine = EM_X86_64) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = machine;
  header.e_phoff = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  const std::string strings = std::string(1, '\0') + soname + std::string(1, '\0');
  const std::size_t dynamic_at = sizeof(header) + 2 * sizeof(Elf64_Phdr);
  const std::size_t strings_at = dynamic_at + 3 * sizeof(Elf64_Dyn);
  Elf64_Phdr load{.p_type = PT_LOAD, .p_filesz = strings_at + strings.size()};
  Elf64_Phdr dynamic{.p_type = PT_DYNAMIC, .p_offset = dynamic_at, .p_filesz = 3 * sizeof(Elf64_Dyn)};
  Elf64_Dyn entries[3] = {};
  entries[0].d_tag = soname.empty() ? DT_DEBUG : DT_SONAME;
  entries[0].d_un.d_val = 1;
  entries[1].d_tag = DT_STRTAB;
  entries[1].d_un.d_ptr = strings_at;
  std::string out(reinterpret_cast<const char*>(&header), sizeof(header));
  out.append(reinterpret_cast<const char*>(&load), sizeof(load));
  out.append(reinterpret_cast<const char*>(&dynamic), sizeof(dynamic));
  out.append(reinterpret_cast<const char*>(entries), sizeof(entries));
  return out + strings;
}

/// Four GPUs whose nodes have the numbers 1 to 4, the last in two parts; version 535.104.05 of everything.
class DriverRootFixture : public FolderFixture {
 public:
  static constexpr const char* kFolder = "usr/lib/x86_64-linux-gnu/";

  DriverRootFixture() {
    write("proc/devices",
          "Character devices:\n  1 mem\n195 nvidia\n508 nvidia-uvm\n237 nvidia-caps\n\nBlock devices:\n  8 sd\n 99 "
          "nvidia\n");
    write(
        "proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version: 12\n");
    for (int n = 0; n < 4; ++n) {
      const std::string bus = "0000:0" + std::to_string(n + 1) + ":00.0";
      write("proc/driver/nvidia/gpus/" + bus + "/information",
            "Model: \t\t Tesla T4\nGPU UUID: \t GPU-" + std::to_string(n) + "a\nBus Location: \t " + bus +
                "\nDevice Minor: \t " + std::to_string(n + 1) + "\n");
    }
    write("proc/driver/nvidia/capabilities/gpu4/mig/gi10/ci0/access", "");
    write("proc/driver/nvidia/capabilities/gpu4/mig/gi9/ci0/access", "");
    write("proc/driver/nvidia-caps/mig-minors",
          "config 1\nmonitor 2\ngpu4/gi9/access 30\ngpu4/gi9/ci0/access 31\ngpu4/gi10/access 39\ngpu4/gi10/ci0/access "
          "40\n");
    library("libcuda", "libcuda.so.1");
    library("libnvidia-ml", "libnvidia-ml.so.1");
    library("libnvcuvid", "libnvcuvid.so.1");
    library("libnvidia-later", "libnvidia-later.so.535.104.05");
    library("libGLX_nvidia", "libGLX_nvidia.so.0");
    write("usr/lib/x86_64-linux-gnu/libother.so.1.2.3", tiny_library("libother.so.1"));
    link("usr/lib/x86_64-linux-gnu/libnvidia-ml.so", "libnvidia-ml.so.1");
    write("usr/bin/nvidia-smi", "");
    write("lib/firmware/nvidia/535.104.05/gsp_tu10x.bin", "");
    write("run/nvidia-persistenced/socket", "");
  }
  void library(const std::string& name, const std::string& soname) const {
    write(kFolder + name + ".so.535.104.05", tiny_library(soname));
  }
};

}  // namespace drover
