// drover accel: the accelerators of this machine, and how containers come to them.
#include "cli/accel.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <filesystem>

#include "accel/cdi_registry.h"
#include "accel/neuron.h"
#include "accel/nvidia_edits.h"
#include "base/units.h"
#include "cli/doctor_check.h"
#include "cli/print.h"
#include "cli/table.h"
#include "screen/plain_text.h"

namespace drover {
namespace json = boost::json;
namespace {

struct AccelFlags {
  CommonFlags common;
  std::string config;
  std::string driver_root;
  std::string folder = "/etc/cdi";
  bool writes = false;
};

Result<AccelSettings> settings_of(const AccelFlags& flags) {
  auto settings = read_accel_settings(flags.config.empty() ? settings_path() : flags.config, !flags.config.empty());
  if (settings && !flags.driver_root.empty()) settings->driver_root = flags.driver_root;
  return settings;
}

json::array parts_to_json(const NvidiaGpu& gpu) {
  json::array out;
  for (std::size_t i = 0; i < gpu.parts.size(); ++i) {
    out.push_back(json::object{{"name", fmt::format("{}:{}", gpu.index, i)},
                               {"gpu_instance", gpu.parts[i].gpu_instance},
                               {"compute_instance", gpu.parts[i].compute_instance}});
  }
  return out;
}

Result<int> list_accelerators(const AccelFlags& flags) {
  const auto settings = settings_of(flags);
  if (!settings) return std::unexpected(settings.error());
  const auto places = DriverPlaces::open(settings->driver_root);
  if (!places) return std::unexpected(places.error());
  const NvidiaDriver driver = find_nvidia_driver(*places);
  const std::vector<std::uint32_t> neuron = find_neuron_devices(*places);
  const std::vector<std::string> cdi = CdiRegistry::scan(settings->cdi_folders).names();
  if (flags.common.json) {
    json::array gpus;
    for (const NvidiaGpu& gpu : driver.gpus) {
      gpus.push_back(json::object{{"index", gpu.index},
                                  {"uuid", gpu.uuid},
                                  {"model", gpu.model},
                                  {"bus", gpu.bus},
                                  {"device", gpu.node()},
                                  {"mig", parts_to_json(gpu)}});
    }
    show("{}\n", json::serialize(
                     json::object{{"driver", driver.is_loaded() ? json::value(driver.version) : json::value(nullptr)},
                                  {"gpus", std::move(gpus)},
                                  {"neuron", json::array(neuron.begin(), neuron.end())},
                                  {"cdi", json::array(cdi.begin(), cdi.end())}}));
    return kAllSucceeded;
  }
  Table table({{.title = "DEVICE"}, {.title = "NAME"}, {.title = "MODEL", .cut = true}, {.title = "UUID"}});
  for (const NvidiaGpu& gpu : driver.gpus) {
    table.add({gpu.node(), std::to_string(gpu.index), plain_text(gpu.model), plain_text(gpu.uuid)});
    for (std::size_t i = 0; i < gpu.parts.size(); ++i) {
      table.add({gpu.node(), fmt::format("{}:{}", gpu.index, i), "MIG device",
                 fmt::format("MIG-{}/{}/{}", plain_text(gpu.uuid), gpu.parts[i].gpu_instance,
                             gpu.parts[i].compute_instance)});
    }
  }
  for (const std::uint32_t number : neuron) {
    table.add({fmt::format("/dev/neuron{}", number), std::to_string(number), "AWS Neuron", "-"});
  }
  if (driver.gpus.empty() && neuron.empty()) {
    show("there is no accelerator on this machine\n");
  } else {
    table.print();
  }
  if (!cdi.empty() && !flags.common.quiet) show("{} in CDI files\n", plural(cdi.size(), "device"));
  return kAllSucceeded;
}

Result<int> check(const AccelFlags& flags) {
  const auto settings = settings_of(flags);
  if (!settings) return std::unexpected(settings.error());
  std::uint64_t problems = 0;
  json::array listed;
  for (const Check& it : check_accelerators(*settings)) {
    problems += it.verdict == CheckVerdict::problem ? 1 : 0;
    listed.push_back(json::object{{"about", it.about},
                                  {"verdict", to_string(it.verdict)},
                                  {"text", it.text},
                                  {"next", it.next.empty() ? json::value(nullptr) : json::value(it.next)}});
    if (flags.common.json || (flags.common.quiet && it.verdict == CheckVerdict::ok)) continue;
    show("{:<8} {:<8} {}\n", to_string(it.verdict), it.about, plain_text(it.text));
    if (!it.next.empty()) show("{:<8} {:<8} next: {}\n", "", "", plain_text(it.next));
  }
  if (flags.common.json) {
    show("{}\n", json::serialize(json::object{{"problems", problems}, {"checks", std::move(listed)}}));
  }
  return problems == 0 ? kAllSucceeded : kSomeDidNot;
}

/// Where it is.
Result<std::string> write_cdi_file(const std::string& folder, const CdiSpec& spec) {
  std::string name = spec.kind;
  name[name.find('/')] = '-';
  const auto machine = RootFolder::open("/");
  if (!machine) return std::unexpected(machine.error());
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(folder, error).lexically_normal().string();
  std::filesystem::create_directories(absolute, error);
  const auto into = RootFolder::open(absolute);
  if (!into) return std::unexpected(into.error());
  if (auto written = into->write(fmt::format("/{}.json", name), cdi_to_json(spec)); !written) return pass(written);
  return fmt::format("{}/{}.json", absolute, name);
}

Result<int> cdi(const AccelFlags& flags) {
  const auto settings = settings_of(flags);
  if (!settings) return std::unexpected(settings.error());
  const auto hook = program_beside("drover-hook");
  if (!hook) return std::unexpected(hook.error());
  const auto places = DriverPlaces::open(settings->driver_root);
  if (!places) return std::unexpected(places.error());
  std::vector<CdiSpec> specs;
  auto nvidia = nvidia_cdi_spec(*places, *hook);
  const auto neuron = neuron_cdi_spec(*places);
  if (nvidia) specs.push_back(*nvidia);
  if (neuron) specs.push_back(*neuron);
  // A machine has one make of them, and most have NVIDIA's: that is what is missing.
  if (specs.empty()) return pass(nvidia);
  json::array shown;
  for (const CdiSpec& spec : specs) {
    std::string path;
    if (flags.writes) {
      auto written = write_cdi_file(flags.folder, spec);
      if (!written) return pass(written);
      path = std::move(*written);
    }
    if (flags.common.json) {
      shown.push_back(json::object{{"file", path.empty() ? json::value(nullptr) : json::value(path)},
                                   {"spec", json::parse(cdi_to_json(spec))}});
    } else if (!flags.writes) {
      show("{}", cdi_to_json(spec));
    } else if (!flags.common.quiet) {
      show("{}: {}\n", path, plural(spec.devices.size(), "device"));
    }
  }
  if (flags.common.json) show("{}\n", json::serialize(json::object{{"files", std::move(shown)}}));
  return kAllSucceeded;
}

}  // namespace

Result<std::string> program_beside(std::string_view name) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  // The tarball's programs lie above its library folder, where this one is.
  for (const std::filesystem::path& folder : {own.parent_path(), own.parent_path().parent_path()}) {
    const std::string path = (folder / name).string();
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return fail(ErrorCode::not_found, fmt::format("{} is not installed beside {}", name, own.string()),
              "install Drover's Debian package, or copy its programs into one folder");
}

void add_accel(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<AccelFlags>();
  Verb verb = app.add_subcommand("accel", "GPUs and Neuron devices of this machine, and how containers use them");
  verb.require_subcommand(1);
  verb.footer("Examples:\n  drover accel list\n  drover accel check\n  drover accel install --docker");
  const auto add = [&](const char* name, const char* help, const char* example, auto act) {
    Verb it = verb.add_subcommand(name, help);
    add_common_flags(it, flags->common);
    it.add_option("--driver-root", flags->driver_root,
                  "Folder in which the driver is installed (default: that of the settings, or /)")
        .type_name("DIR");
    it.add_option("--accel-config", flags->config,
                  "Settings of the OCI runtime (default: /etc/nvidia-container-runtime/config.toml)")
        .type_name("FILE");
    it.footer(fmt::format("Example:\n  {}", example));
    it.callback([flags, act, &invocation] {
      auto status = act(*flags);
      invocation.exit_status = status ? *status : failure(status.error());
    });
    return it;
  };
  add("list", "List the accelerators of this machine", "drover accel list", list_accelerators);
  add("check", "Check drivers, libraries and devices; exit status 1 if something will not work", "drover accel check",
      check);
  Verb writing = add("cdi", "Print CDI files for the accelerators of this machine", "drover accel cdi --write", cdi);
  writing.add_flag("--write", flags->writes, "Write the files instead of printing them");
  writing.add_option("--folder", flags->folder, "Folder for the files of --write (default: /etc/cdi)").type_name("DIR");
  add_accel_install(verb, invocation);
}

}  // namespace drover
