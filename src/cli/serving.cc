#include "cli/serving.h"

#include "accel/device_pool.h"
#include "base/text.h"
#include "build_info.h"
#include "cli/run_job.h"
#include "cli/verb.h"
#include "worker/machine.h"

namespace drover {
namespace {

/// Where it answers itself, for names of images.
std::vector<std::string> own_hosts(const ServerOptions& options) {
  std::vector<std::string> out = options.listen;
  if (out.empty()) out.emplace_back(kDefaultAddress);
  const std::string port = out.front().substr(out.front().rfind(':'));
  for (const std::string& host : options.advertise) out.push_back(host.contains(':') ? host : concat(host, port));
  std::erase_if(out, [](const std::string& host) { return host.starts_with("unix:"); });
  return out;
}

/// Its own environment is left as it is: local machines are told by it which GPUs are theirs.
Result<AcceleratorCounts> accelerators_here() {
  auto settings = read_accel_settings(settings_path());
  if (!settings) return pass(settings);
  auto pool = DevicePool::find(*settings);
  if (!pool) return pass(pool);
  return pool->counts();
}

}  // namespace

Result<int> run_server(ServerOptions options, RegistryFlags registries) {
  options.version = DROVER_VERSION;
  auto accelerators = accelerators_here();
  if (!accelerators) return pass(accelerators);
  options.here = {1000 * std::uint64_t{default_slots()}, machine_memory_bytes(), *accelerators};
  registries.own_hosts = own_hosts(options);
  registries.own_authority = concat(options.data, "/server/ca.pem");
  auto rules = registry_rules(registries);
  if (!rules) return pass(rules);
  options.make_image_resolver = [rules = std::move(*rules)] { return tag_resolver(rules); };
  block_signals();
  auto server = Server::start(options);
  if (!server) return pass(server);
  auto ended = (*server)->run();
  if (!ended) return pass(ended);
  return kAllSucceeded;
}

}  // namespace drover
