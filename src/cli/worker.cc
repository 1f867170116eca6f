// drover worker: runs the items of a server's jobs on this machine.
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "build_info.h"
#include "cli/config_file.h"
#include "cli/devices_here.h"
#include "cli/image_here.h"
#include "cli/json_events.h"
#include "cli/notices_in_background.h"
#include "cli/object_access.h"
#include "cli/run_job.h"
#include "cli/server_client.h"
#include "cli/worker_access.h"
#include "engine/system_clock.h"
#include "keys/private_file.h"
#include "run/process_runner.h"
#include "store/run_folder.h"
#include "wire/job_fields.h"
#include "wire/labels.h"
#include "worker/remote_worker.h"

namespace drover {
namespace {

struct WorkerFlags {
  CommonFlags common;
  ServerFlags server;
  std::string join;
  std::string name;
  double cpus = 0;
  std::string memory;
  std::size_t jobs = 0;
  std::optional<std::uint64_t> gpus;
  std::vector<std::string> accelerators;
  std::vector<std::string> labels;
  bool exit_when_idle = false;
  std::uint64_t max_items = 0;
  ImageKeeping images;
  std::string config;
};

/// As many helpers as may stand ready, however little items ask for.
std::size_t slots_for(double cpus) {
  return std::max<std::size_t>(64, static_cast<std::size_t>(std::ceil(cpus)) * 4);
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "worker";
}

/// How attempts reach the server. Their keys come from the server; the worker's own is not for them.
Result<std::map<std::string, std::string>> tell_attempts(const ServerAccess& access, const std::string& folder) {
  for (const char* name : {"DROVER_SERVER", "DROVER_CA", "DROVER_KEY", "DROVER_JOIN"}) ::unsetenv(name);
  std::map<std::string, std::string> out{{"DROVER_SERVER", access.address}};
  if (!access.ca_pem || !access.address.starts_with("https://")) return out;
  std::error_code error;
  const std::string path = std::filesystem::absolute(folder, error) / "ca.pem";
  std::filesystem::create_directories(folder, error);
  if (auto written = replace_file(path, *access.ca_pem, Readers::everyone); !written) return pass(written);
  out["DROVER_CA"] = path;
  return out;
}

/// What items may use: what is asked for, or all that is here. A kind of which nothing is found is only counted.
Result<AcceleratorCounts> offered(const WorkerFlags& flags, const MachineDevices& machine) {
  if (!flags.gpus && flags.accelerators.empty()) return machine.pool.counts();
  auto wanted = accelerator_counts(flags.gpus.value_or(0), flags.accelerators);
  if (!wanted) return wanted;
  for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
    const std::uint64_t here = machine.pool.devices()[kind].size();
    if (here == 0 || (*wanted)[kind] <= here) continue;
    return fail(ErrorCode::bad_input,
                fmt::format("{} accelerators of kind '{}' are to be used, and this machine has {}", (*wanted)[kind],
                            kAcceleratorNames[kind], here),
                "see what is here: drover accel list");
  }
  return wanted;
}

Result<int> work(WorkerFlags& flags) {
  RemoteWorkerOptions options;
  options.hello.name = flags.name.empty() ? host_name() : flags.name;
  options.hello.version = DROVER_VERSION;
  if (!is_valid_name(options.hello.name)) {
    return fail(ErrorCode::bad_input, concat("invalid worker name '", options.hello.name, "'"),
                "set one with --name: letters, digits, '_', '.' and '-'");
  }
  const double cpus = flags.cpus > 0 ? flags.cpus : static_cast<double>(default_slots());
  options.hello.has.milli_cpus = static_cast<std::uint64_t>(std::max(1LL, std::llround(cpus * 1000)));
  options.most_slots = flags.jobs > 0 ? flags.jobs : slots_for(cpus);
  options.hello.has.memory_bytes =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (!flags.memory.empty()) {
    auto memory = parse_size(flags.memory);
    if (!memory) return pass(memory);
    options.hello.has.memory_bytes = *memory;
  }
  auto devices = devices_here();
  if (!devices) return pass(devices);
  auto accelerators = offered(flags, **devices);
  if (!accelerators) return pass(accelerators);
  options.hello.has.accelerators = *accelerators;
  options.devices = std::move(*devices);
  auto labels = labels_from_words("--label", flags.labels);
  if (!labels) return pass(labels);
  options.hello.labels = std::move(*labels);
  options.exit_when_idle = flags.exit_when_idle;
  options.most_items = flags.max_items;
  const std::string root = data_root(flags.common.data);
  options.images = images_folder(root);
  options.image_access = image_access();
  auto limits = image_limits(root, flags.images);
  if (!limits) return pass(limits);
  options.image_limits = *limits;
  options.spool = concat(root, "/workers/", options.hello.name, "/spool");

  // Two of one name would take their items from each other.
  auto folder = RunFolder::hold_worker(root, options.hello.name);
  if (!folder) return pass(folder);
  auto access = worker_access(flags.common, flags.server, flags.join, options.hello.name);
  if (!access) return pass(access);
  if (auto told = tell_attempts(*access, concat(root, "/workers/", options.hello.name)); told) {
    options.environment = std::move(*told);
  } else {
    return pass(told);
  }
  options.staging = concat(root, "/workers/", options.hello.name, "/items");
  options.object_endpoint = object_endpoint(*access);
  options.object_network = object_network(&*access);
  options.variable = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  block_signals();
  MachineRunner runner(containers_folder(root));
  std::optional<JsonEvents> events;
  if (flags.common.json) events.emplace();
  RemoteWorker worker(std::move(options), runner, [&events, quiet = flags.common.quiet](const std::string& text) {
    if (events) {
      events->write({{"event", "notice"}, {"time_ms", SystemWallClock().epoch_ms()}, {"text", utf8(text)}});
    } else if (!quiet) {
      print_notice(text);
    }
  });
  auto ended = worker.run([access = *access] { return make_http_client(access.client_options()); });
  if (!ended) return pass(ended);
  return kAllSucceeded;
}

}  // namespace

void add_worker(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<WorkerFlags>();
  Verb verb = app.add_subcommand("worker", "Run items from a server's jobs on this machine");
  add_common_flags(verb, flags->common);
  add_server_flag(verb, flags->server);
  verb.add_option("--join", flags->join, "Join token, for the first start; create one with 'drover key join'")
      .type_name("TOKEN");
  verb.add_option("--name", flags->name, "Name of the worker (default: host name)").type_name("NAME");
  verb.add_option("--cpus", flags->cpus, "CPUs available to items (default: all)").type_name("N");
  verb.add_option("--memory", flags->memory, "Memory available to items (default: all)").type_name("SIZE");
  verb.add_option("--gpus", flags->gpus, "GPUs available to items; short for --accelerator nvidia=N (default: all)")
      .type_name("N")
      .range(0, 1'000'000);
  verb.add_option("--accelerator", flags->accelerators,
                  "Accelerators available to items: nvidia, amd or neuron; repeatable")
      .type_name("KIND=N")
      .repeatable();
  verb.add_option("--jobs", flags->jobs, "Maximum number of items to run at once, however little they request")
      .type_name("N")
      .range(1, 100'000);
  verb.add_option("--label", flags->labels, "Label that jobs can require; repeatable")
      .type_name("NAME=VALUE")
      .repeatable();
  verb.add_option("--images-most", flags->images.most,
                  "Remove unused images, least recently used first, until the images take up no more than this; 0: no "
                  "limit (default: half of the disk)")
      .type_name("SIZE");
  verb.add_option("--images-unused", flags->images.unused,
                  "Remove images that have not been used for this long; 0: never (default: 30d)")
      .type_name("TIME");
  verb.add_flag("--exit-when-idle", flags->exit_when_idle, "Exit when there is nothing to run");
  verb.add_option("--max-items", flags->max_items, "Exit after this many items").type_name("N");
  verb.footer(
      "Examples:\n  drover worker\n  drover worker --cpus 8 --memory 24GiB --label gpu=none\n"
      "  drover worker --gpus 4 --label gpu=a100\n"
      "  drover worker --join drover-join-eyJh… --name gpu-7");
  verb.option("--server").envname("DROVER_SERVER");
  verb.option("--join").envname("DROVER_JOIN");
  add_config_flag(verb, flags->config, "DROVER_WORKER");
  verb.callback([flags, verb, &invocation] {
    const NoticesInBackground notices;
    auto configured = read_config(verb, flags->config);
    auto done = configured ? work(*flags) : std::unexpected(configured.error());
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
