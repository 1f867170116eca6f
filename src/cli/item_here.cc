#include "cli/item_here.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/units.h"
#include "cli/image_here.h"
#include "cli/object_access.h"
#include "store/run_folder.h"
#include "worker/job_run.h"
#include "worker/job_staging.h"

namespace drover {
namespace {

constexpr const char* kAnyProgram = "/bin/sh";

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

bool is_here(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

std::string from_elsewhere(const RecordedItem& item) {
  if (!item.attempt || item.attempt->worker.empty() || item.attempt->worker == host_name()) return {};
  return item.attempt->worker;
}

void compare_limits(const ItemLimits& limits, std::vector<std::string>& differences) {
  const auto memory =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (limits.memory_bytes > memory) {
    differences.push_back(fmt::format("its memory limit is {}, but this machine has {}",
                                      format_size(limits.memory_bytes), format_size(memory)));
  }
  const unsigned cpus = std::thread::hardware_concurrency();
  if (limits.milli_cpus > cpus * 1000) {
    differences.push_back(fmt::format("its CPU limit is {:g}, but this machine has {}",
                                      static_cast<double>(limits.milli_cpus) / 1000, cpus));
  }
}

/// What is not on this machine is left out, and said.
void leave_out_missing(ContainerOptions& options, std::vector<std::string>& differences) {
  std::erase_if(options.mounts, [&](const ContainerMount& mount) {
    if (!mount.source.starts_with('/') || is_here(mount.source)) return false;
    differences.push_back(
        fmt::format("{} is not mounted: {} does not exist on this machine", mount.target, mount.source));
    return true;
  });
  std::erase_if(options.devices, [&](const ContainerDevice& device) {
    if (is_here(device.host)) return false;
    differences.push_back(fmt::format("device {} does not exist on this machine", device.host));
    return true;
  });
}

void compare_process(const RecordedItem& item, std::vector<std::string>& differences) {
  if (!item.settings) return;
  differences.push_back("environment variables that the job does not set come from this machine");
  if (item.definition.workdir.empty()) {
    std::error_code ignored;
    differences.push_back(fmt::format("on a worker, it runs in the worker's directory; here, it runs in {}",
                                      std::filesystem::current_path(ignored).string()));
  }
}

}  // namespace

Result<ItemHere> item_here(const RecordedItem& item, const ItemFlags& flags, MachineRunner& runner, bool quiet) {
  ItemHere here{.definition = item.definition, .image = nullptr, .settings = {}, .differences = {}, .staged = nullptr};
  const std::string root = data_root(flags.common.data);
  std::vector<std::string>& differences = here.differences;
  const std::string elsewhere = from_elsewhere(item);
  if (!elsewhere.empty()) {
    differences.push_back(fmt::format("it ran on worker '{}', but this machine is '{}'", elsewhere, host_name()));
  }
  if (uses_staging(item.definition)) {
    // With the user's own key: the attempt's was only its own.
    auto opener = object_opener({.common = flags.common, .server = flags.server, .endpoint = {}});
    if (!opener) return pass(opener);
    auto staged = StagedHere::make(item, *opener);
    if (!staged) return pass(staged);
    here.staged = std::move(*staged);
    if (!item.definition.output.empty()) {
      differences.push_back(fmt::format("its files are not uploaded: they stay in {}", here.staged->output()));
    }
  }
  if (item.settings) {
    // As a worker does it: keys of whoever started it are not its items'.
    for (const char* name : {"DROVER_SERVER", "DROVER_CA", "DROVER_KEY", "DROVER_JOIN"}) ::unsetenv(name);
    here.settings = *item.settings;
    differences.emplace_back("DROVER_KEY is not set: only workers receive a job's key");
  }
  compare_limits(item.definition.limits, differences);
  if (!here.definition.container) {
    compare_process(item, differences);
    return here;
  }
  ContainerOptions& options = *here.definition.container;
  leave_out_missing(options, differences);
  for (const ContainerMount& mount : options.mounts) {
    if (elsewhere.empty() || mount.source.starts_with('/')) continue;
    differences.push_back(fmt::format("volume '{}' is the one on this machine", mount.source));
  }
  auto image = image_here(root, runner, options, quiet);
  if (!image) return pass(image);
  here.image = std::move(*image);
  if (item.definition.container->digest.empty()) {
    differences.push_back(fmt::format("no digest for image {} was recorded: its current version is used{}{}",
                                      options.image, here.image->digest.empty() ? "" : ", ", here.image->digest));
  }
  if (item.settings && ::geteuid() != 0 && runtime_for(options) != ContainerRuntime::docker) {
    differences.emplace_back("its container is rootless");
  }
  return here;
}

namespace {

Result<ReadyTask> make_ready(const RecordedItem& item, const Definition& definition, const ItemHere& here,
                             std::shared_ptr<const ContainerPlan> image) {
  if (here.staged && image) {
    auto changed = std::make_shared<ContainerPlan>(*image);
    changed->edits.mounts.push_back({.source = here.staged->folder(), .target = StagedHere::inside()});
    image = std::move(changed);
  }
  auto run = make_job_run(definition, item.uuid, here.settings, std::move(image));
  if (!run) return pass(run);
  auto task = make_task(*run, Token{GrantId{1}, item.index}, AttemptNumber{item.attempt_number()}, item.text,
                        here.staged ? here.staged->item() : StagedItem());
  if (!task) return pass(task);
  // All that is printed is wanted.
  run->setup.limits.log_bytes = 0;
  return ReadyTask{std::move(run->setup), std::move(*task)};
}

}  // namespace

Result<ReadyTask> own_task(const RecordedItem& item, const ItemHere& here) {
  return make_ready(item, here.definition, here, here.image);
}

Result<ReadyTask> other_task(const RecordedItem& item, const ItemHere& here, const std::vector<std::string>& words) {
  // The item's own command need not be there, nor mean anything here.
  Definition definition = here.definition;
  definition.command = {kAnyProgram};
  definition.shell = false;
  std::shared_ptr<ContainerPlan> image;
  if (here.image && definition.container) {
    definition.container->entrypoint.emplace();
    image = std::make_shared<ContainerPlan>(*here.image);
    if (image->options.reuse) image->options.init = true;
    image->options.reuse = false;
  }
  auto ready = make_ready(item, definition, here, std::move(image));
  if (!ready) return pass(ready);
  ready->task.program = words.front();
  ready->task.arguments = words;
  return ready;
}

}  // namespace drover
