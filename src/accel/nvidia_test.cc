// NVIDIA's driver, its files and what containers are given of them, on a machine in a folder.
#include <algorithm>

#include "accel/driver_root_fixture.h"
#include "accel/elf_library.h"
#include "accel/ld_cache.h"
#include "accel/nvidia_edits.h"

namespace drover {
namespace {

DriverPlaces places_of(const FolderFixture& folder) {
  auto places = DriverPlaces::open(folder.path());
  EXPECT_TRUE(places.has_value());
  return std::move(*places);
}

std::vector<std::string> node_paths(const CdiEdits& edits) {
  std::vector<std::string> paths;
  for (const auto& node : edits.devices) paths.push_back(node.path);
  return paths;
}

std::vector<std::string> file_names(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) names.push_back(path.substr(path.rfind('/') + 1));
  return names;
}

bool has_name(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

TEST(NvidiaDriver, IsAsProcShowsIt) {
  const DriverRootFixture machine;
  const NvidiaDriver driver = find_nvidia_driver(places_of(machine));
  EXPECT_EQ(driver.version, "535.104.05");
  EXPECT_EQ(driver.majors.at("nvidia"), 195u) << "the block device of that name is another";
  ASSERT_EQ(driver.gpus.size(), 4u);
  EXPECT_EQ(driver.gpus[1].index, 1u);
  EXPECT_EQ(driver.gpus[1].minor, 2u);
  EXPECT_EQ(driver.gpus[1].uuid, "GPU-1a");
  EXPECT_EQ(driver.gpus[1].model, "Tesla T4");
  ASSERT_EQ(driver.gpus[3].parts.size(), 2u);
  EXPECT_EQ(driver.gpus[3].parts[0], (MigDevice{9, 0, 30, 31}));
}

TEST(NvidiaDriver, GpusWithoutANodeAreSomebodyElses) {
  const DriverRootFixture machine;
  machine.node("dev/nvidiactl", 195, 255);
  machine.node("dev/nvidia2", 195, 2);
  machine.node("dev/nvidia4", 195, 4);
  const NvidiaDriver driver = find_nvidia_driver(places_of(machine));
  ASSERT_EQ(driver.gpus.size(), 2u);
  EXPECT_EQ(driver.gpus[0].uuid, "GPU-1a");
  EXPECT_EQ(driver.gpus[1].uuid, "GPU-3a");
  EXPECT_EQ(driver.gpus[1].index, 1u) << "as nvidia-smi counts there";
}

TEST(NvidiaDriver, VersionsOfOpenModulesAreRead) {
  EXPECT_EQ(driver_version_in("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.10  Release Build\n"),
            "570.86.10");
  EXPECT_EQ(driver_version_in("nothing"), "");
}

TEST(NvidiaDriver, AMachineWithoutItHasNoGpus) {
  const FolderFixture folder;
  folder.write("proc/driver/nvidia/x", "");
  const NvidiaDriver driver = find_nvidia_driver(places_of(folder));
  EXPECT_FALSE(driver.is_loaded());
  EXPECT_TRUE(driver.gpus.empty());
}

TEST(NvidiaFiles, AreChosenByCapability) {
  const DriverRootFixture machine;
  const auto root = RootFolder::open(machine.path());
  const NvidiaFiles utility = find_nvidia_files(*root, NvidiaCapabilities::utility);
  EXPECT_EQ(utility.version, "535.104.05");
  EXPECT_EQ(file_names(utility.libraries), std::vector<std::string>{"libnvidia-ml.so.535.104.05"});
  EXPECT_EQ(utility.programs, std::vector<std::string>{"/usr/bin/nvidia-smi"});
  const NvidiaFiles compute = find_nvidia_files(*root, NvidiaCapabilities::compute);
  EXPECT_EQ(file_names(compute.libraries),
            (std::vector<std::string>{"libcuda.so.535.104.05", "libnvidia-later.so.535.104.05"}));
  EXPECT_TRUE(compute.programs.empty());
  const NvidiaFiles all = find_nvidia_files(*root, NvidiaCapabilities::all);
  EXPECT_EQ(all.libraries.size(), 5u);
  EXPECT_FALSE(has_name(file_names(all.libraries), "libother.so.1.2.3"));
  EXPECT_EQ(all.data, std::vector<std::string>{"/lib/firmware/nvidia/535.104.05/gsp_tu10x.bin"});
  EXPECT_EQ(all.sockets, std::vector<std::string>{"/run/nvidia-persistenced/socket"});
}

TEST(NvidiaFiles, AProgramIsPreferredToAScriptOfItsName) {
  const DriverRootFixture machine;
  machine.write("usr/bin/nvidia-smi", "#!/bin/sh\nexec /usr/local/nvidia/bin/nvidia-smi \"$@\"\n");
  machine.write("usr/local/nvidia/bin/nvidia-smi",
                "\x7f"
                "ELF and so on");
  const auto root = RootFolder::open(machine.path());
  EXPECT_EQ(find_nvidia_files(*root, NvidiaCapabilities::utility).programs,
            std::vector<std::string>{"/usr/local/nvidia/bin/nvidia-smi"});
}

TEST(NvidiaFiles, LinksFollowTheSonamesAndTheMachine) {
  const DriverRootFixture machine;
  const auto root = RootFolder::open(machine.path());
  const std::string folder = "/usr/lib/x86_64-linux-gnu/";
  std::vector<std::string> links;
  for (const auto& link : find_nvidia_files(*root, NvidiaCapabilities::all).links)
    links.push_back(link.path.substr(folder.size()) + " " + link.target);
  std::ranges::sort(links);
  EXPECT_EQ(links, (std::vector<std::string>{
                       "libGLX_indirect.so.0 libGLX_nvidia.so.535.104.05",
                       "libGLX_nvidia.so.0 libGLX_nvidia.so.535.104.05", "libcuda.so libcuda.so.1",
                       "libcuda.so.1 libcuda.so.535.104.05", "libnvcuvid.so.1 libnvcuvid.so.535.104.05",
                       "libnvidia-ml.so libnvidia-ml.so.1", "libnvidia-ml.so.1 libnvidia-ml.so.535.104.05"}));
}

// Their contents tell which come from the cache: those are no libraries.
TEST(NvidiaFiles, WhatTheLinkersCacheKnowsIsNotReadFromTheLibraries) {
  const DriverRootFixture machine;
  const std::string folder = DriverRootFixture::kFolder;
  LdCache cache;
  const auto add = [&](const std::string& file, const std::string& soname, std::uint32_t flags) {
    machine.write(folder + file, "no library");
    if (file != soname) machine.link(folder + soname, file);
    cache.entries.push_back({.flags = flags, .name = soname, .path = "/" + folder + soname});
  };
  add("libcuda.so.535.104.05", "libcuda.so.1", 0x0303);
  add("libnvidia-nvvm.so.535.104.05", "libnvidia-nvvm.so.4", 0x0303);
  add("libnvidia-allocator.so.535.104.05", "libnvidia-allocator.so.1", 0x0003);  // for 32 bits
  add("libnvidia-rtcore.so.535.104.05", "libnvidia-rtcore.so.535.104.05", 0x0303);
  // Names that the folder no longer has, or of which there are two, say nothing.
  cache.entries.push_back({.flags = 0x0303, .name = "libnvidia-ml.so.2", .path = "/" + folder + "libnvidia-ml.so.2"});
  machine.write("etc/ld.so.cache", write_ld_cache(cache));
  const auto root = RootFolder::open(machine.path());
  const NvidiaFiles files = find_nvidia_files(
      *root, NvidiaCapabilities::compute | NvidiaCapabilities::utility | NvidiaCapabilities::graphics);
  const std::vector<std::string> names = file_names(files.libraries);
  EXPECT_TRUE(has_name(names, "libcuda.so.535.104.05"));
  EXPECT_FALSE(has_name(names, "libnvidia-allocator.so.535.104.05"));
  std::vector<std::string> links;
  for (const auto& link : files.links) links.push_back(link.path.substr(folder.size() + 1));
  EXPECT_TRUE(has_name(links, "libcuda.so.1") && has_name(links, "libnvidia-nvvm.so.4"));
  EXPECT_TRUE(has_name(links, "libnvidia-ml.so.1") && !has_name(links, "libnvidia-ml.so.2"));
  EXPECT_FALSE(has_name(links, "libnvidia-rtcore.so.1"));
}

TEST(NvidiaCapabilities, AreAListOfWords) {
  EXPECT_EQ(NvidiaCapabilities::parse("utility, compute")->bits(),
            NvidiaCapabilities::utility | NvidiaCapabilities::compute);
  EXPECT_EQ(NvidiaCapabilities::parse("video,all")->bits(), NvidiaCapabilities::all);
  EXPECT_EQ(NvidiaCapabilities::parse("")->bits(), 0u);
  EXPECT_NE(NvidiaCapabilities::parse("compute,cuda").error().message.find("'cuda'"), std::string::npos);
}

TEST(NvidiaChoice, ByIndexUuidAndPart) {
  const DriverRootFixture machine;
  const DriverPlaces places = places_of(machine);
  const NvidiaDriver driver = find_nvidia_driver(places);
  const NvidiaEdits edits(places, driver, "/usr/bin/drover-hook");
  const auto nodes_of = [&](const std::string& name) {
    const auto chosen = choose_gpus(driver, {name});
    EXPECT_TRUE(chosen.has_value()) << name;
    return node_paths(edits.of_gpu(chosen->front(), {}));
  };
  EXPECT_EQ(nodes_of("2"), std::vector<std::string>{"/dev/nvidia3"});
  EXPECT_EQ(nodes_of("GPU-0a"), std::vector<std::string>{"/dev/nvidia1"});
  EXPECT_EQ(nodes_of("3:1"), (std::vector<std::string>{"/dev/nvidia4", "/dev/nvidia-caps/nvidia-cap39",
                                                       "/dev/nvidia-caps/nvidia-cap40"}));
  EXPECT_EQ(nodes_of("MIG-GPU-3a/9/0"), (std::vector<std::string>{"/dev/nvidia4", "/dev/nvidia-caps/nvidia-cap30",
                                                                  "/dev/nvidia-caps/nvidia-cap31"}));
  EXPECT_EQ(choose_gpus(driver, {}, true)->size(), 6u) << "four GPUs and two parts";
  for (const std::string name : {"4", "-1", "GPU-9", "3:2", "0:0", "MIG-GPU-3a/9/1", "x", "GPU-"}) {
    const auto chosen = choose_gpus(driver, {name});
    ASSERT_FALSE(chosen.has_value()) << name;
    EXPECT_EQ(chosen.error().message, "there is no GPU '" + name + "' on this machine: it has 0, 1, 2, 3");
  }
  EXPECT_NE(choose_gpus(driver, {"MIG-8a"}).error().message.find("not in /proc"), std::string::npos);
}

TEST(NvidiaEdits, NodesHaveTheNumbersOfTheirDriver) {
  const DriverRootFixture machine;
  const DriverPlaces places = places_of(machine);
  const NvidiaDriver driver = find_nvidia_driver(places);
  const NvidiaEdits edits(places, driver, "/usr/bin/drover-hook");
  const CdiEdits control = edits.of_control();
  const auto numbers = [](const CdiEdits::DeviceNode& node) { return std::pair(*node.major, *node.minor); };
  ASSERT_EQ(control.devices.size(), 3u);
  EXPECT_EQ(numbers(control.devices[0]), std::pair(std::int64_t{195}, std::int64_t{255}));
  EXPECT_EQ(numbers(control.devices[2]), std::pair(std::int64_t{508}, std::int64_t{1}));
  EXPECT_EQ(numbers(edits.of_gpu({&driver.gpus[1], nullptr}, {}).devices.at(0)),
            std::pair(std::int64_t{195}, std::int64_t{2}));
}

TEST(NvidiaEdits, FilesAreMountedReadOnlyAtTheirPaths) {
  const DriverRootFixture machine;
  const DriverPlaces places = places_of(machine);
  const NvidiaDriver driver = find_nvidia_driver(places);
  const CdiEdits edits = NvidiaEdits(places, driver, "/opt/drover-hook")
                             .of_files(find_nvidia_files(places.files, NvidiaCapabilities::utility));
  const CdiEdits::Mount expected = {machine / "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.104.05",
                                    "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.104.05",
                                    {"ro", "nosuid", "nodev", "rbind", "rprivate"},
                                    ""};
  EXPECT_EQ(edits.mounts.at(0), expected);
  EXPECT_EQ(edits.environment, std::vector<std::string>{"NVIDIA_VISIBLE_DEVICES=void"});
  ASSERT_EQ(edits.hooks.size(), 1u);
  EXPECT_EQ(edits.hooks[0].path, "/opt/drover-hook");
  EXPECT_EQ(edits.hooks[0].stage, "createContainer");
  ASSERT_FALSE(edits.hooks[0].environment.empty()) << "an empty one would be the container's";
}

TEST(NvidiaEdits, TheFileOfCdiNamesEveryGpuTwiceAndAllOfThem) {
  const DriverRootFixture machine;
  const auto spec = nvidia_cdi_spec(places_of(machine), "/usr/bin/drover-hook");
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  std::vector<std::string> names;
  for (const CdiDevice& device : spec->devices) names.push_back(device.name);
  EXPECT_EQ(names, (std::vector<std::string>{"0", "GPU-0a", "1", "GPU-1a", "2", "GPU-2a", "3", "GPU-3a", "3:0", "3:1",
                                             "all"}));
  const auto again = cdi_from_text(cdi_to_json(*spec), true);
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->devices, spec->devices);
  const FolderFixture empty;
  EXPECT_FALSE(nvidia_cdi_spec(places_of(empty), "/x").has_value());
}

TEST(ElfLibrary, AnyBytesAreSafe) {
  const FolderFixture folder;
  const std::string whole = tiny_library("libx.so.1", EM_AARCH64);
  const auto read = [&](const std::string& bytes) {
    folder.write("x", bytes);
    const auto root = RootFolder::open(folder.path());
    return read_elf_library(root->open_at("/x", 0).get());
  };
  EXPECT_EQ(read(whole), (ElfLibrary{"libx.so.1", 0x0a03, true}));
  EXPECT_EQ(read(tiny_library("../x")), (ElfLibrary{"", 0x0303, true}));
  EXPECT_EQ(read("#!/bin/sh"), std::nullopt);
  for (std::size_t size = 0; size < whole.size(); size += 3) (void)read(whole.substr(0, size));
  for (std::size_t at = 16; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = '\xff';
    (void)read(damaged);
  }
}

}  // namespace
}  // namespace drover
