#include "server/own_fleets.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "keys/certificates.h"
#include "provide/command_provider.h"
#include "provide/local_provider.h"
#include "server/local_shapes.h"
#include "server/server.h"
#include "wire/fleet_rules.h"

namespace drover {
namespace {

constexpr std::int64_t kLaunchMs = 120'000;  // longer than any call of a provider takes

}  // namespace

Result<void> OwnFleets::make_local() {
  auto known = parts_.ask(AskFleets{.want_machines = false, .want_jobs = false});
  if (!known) return pass(known);
  const auto is_local = [](const Fleet& it) { return it.name == kLocalFleet && !it.deleting; };
  if (std::ranges::any_of(std::get<FleetsNow>(*known).fleets, is_local)) return {};
  FleetRules rules{.provider = "local"};
  rules.most = std::max<std::uint64_t>(parts_.here.milli_cpus / 1000, 1);
  rules.most_milli_cpus = 1000 * rules.most;
  rules.idle_ms = 30'000;
  rules.join_ms = 60'000;
  auto done = parts_.ask(SetFleet{fleet_spec(std::string(kLocalFleet), rules)});
  if (!done) return pass(done);
  return {};
}

Result<void> OwnFleets::start(const Reach& reach) {
  if (parts_.ends_with_server) {
    if (auto made = make_local(); !made) return made;
  }
  reach_ = reach;
  if (!reach.ca_pem.empty()) {
    auto print = fingerprint(reach.ca_pem);
    if (!print) return pass(print);
    ca_fingerprint_ = std::move(*print);
  }
  FleetKeeper::Outside outside{.ask = parts_.ask,
                               .now_ms = parts_.now_ms,
                               .kinds = {{"local", local()}},
                               .prices = parts_.prices,
                               .machines = {},
                               .forget = {}};
  for (const auto& [name, program] : parts_.commands) {
    outside.kinds.emplace(concat("command ", name), command(name, program));
  }
  outside.forget = [this](const std::string& machine) { forget(machine); };
  outside.machines.notice = [this](const std::string& text) { parts_.log.warning(text); };
  outside.machines.server = parts_.keys.server_id();
  outside.machines.elapsed_ms = [this] { return parts_.steady.elapsed_ns() / 1'000'000; };
  const std::scoped_lock lock(keeper_mutex_);
  keeper_ = std::make_shared<FleetKeeper>(std::move(outside));
  return {};
}

void OwnFleets::stop() {
  std::shared_ptr<FleetKeeper> last;
  {
    const std::scoped_lock lock(keeper_mutex_);
    last = std::move(keeper_);
  }
}

void OwnFleets::hear(const Effect& effect) {
  const bool is_about_fleets = std::holds_alternative<FleetsChanged>(effect);
  const bool matters =
      is_about_fleets || std::holds_alternative<JobChanged>(effect) || std::holds_alternative<WorkerStands>(effect);
  if (!matters) return;
  const std::scoped_lock lock(keeper_mutex_);
  if (keeper_ == nullptr) return;
  if (is_about_fleets) return keeper_->fleets_changed();
  keeper_->wake();
}

Result<std::vector<std::string>> OwnFleets::explain(const std::string& fleet) {
  const auto keeper = this->keeper();
  if (keeper == nullptr) return fail(ErrorCode::stopped, "the server is starting or stopping", "try again in a moment");
  return keeper->explain(fleet);
}

std::vector<std::string> OwnFleets::troubles(const std::string& fleet, const FleetRules& rules) const {
  const auto keeper = this->keeper();
  return keeper == nullptr ? std::vector<std::string>{} : keeper->troubles(fleet, rules);
}

std::shared_ptr<FleetKeeper> OwnFleets::keeper() const {
  const std::scoped_lock lock(keeper_mutex_);
  return keeper_;
}

bool OwnFleets::postpones_stop() {
  if (!parts_.ends_with_server || ++signals_ > 2) return false;
  parts_.log.info(signals_ == 1
                      ? "draining local machines; send the signal again to kill their running items"
                      : "killing the running items of local machines; they will run again");
  signals_ == 1 ? keeper_->drain_local() : keeper_->fence_local();
  return true;
}

FleetKeeper::Kind OwnFleets::local() {
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  // What holds for one machine of this computer holds for all.
  const auto said = std::make_shared<std::once_flag>();
  const auto notice = [&log = parts_.log, said](const std::string& text) {
    std::call_once(*said, [&] { log.warning(text); });
  };
  return {.shapes =
              [here = parts_.here](const std::vector<std::string>& named) {
                std::vector<OfferedShape> shapes;
                for (Shape& it : local_shapes(here, named)) shapes.push_back({std::move(it)});
                return shapes;
              },
          .make =
              [this, program, notice](const std::string& fleet, const std::stop_token& /*calls are short*/) {
                return std::make_unique<LocalProvider>(
                    LocalProvider::Options{.folder = concat(parts_.folder, "/", fleet),
                                           .data = parts_.data,
                                           .program = program,
                                           .notice = notice},
                    parts_.steady);
              },
          .join_token = [this](const Machine& it) { return join_token(it, {reach_.from_here}); }};
}

FleetKeeper::Kind OwnFleets::command(const std::string& name, const std::string& program) {
  auto& shapes = shapes_[name];
  shapes = std::make_unique<CommandShapes>(program, [this] {
    const std::scoped_lock lock(keeper_mutex_);
    if (keeper_ != nullptr) keeper_->fleets_changed();
  });
  return {.shapes = [source = shapes.get()](const auto& /*named*/) { return source->now(); },
          .make =
              [program, server = parts_.keys.server_id()](const std::string& fleet, const std::stop_token& stop) {
                return std::make_unique<CommandProvider>(
                    CommandProvider::Options{.program = program, .fleet = fleet, .server = server, .stop = stop});
              },
          .join_token = [this](const Machine& it) { return join_token(it, reach_.from_elsewhere); }};
}

// Valid for one machine, under its name. Its time to join begins when the launch has been answered.
Result<std::string> OwnFleets::join_token(const Machine& machine, const std::vector<std::string>& addresses) {
  const std::int64_t now_ms = parts_.now_ms();
  const JoinTokenRequest request{.uses = 1,
                                 .expires_ms = now_ms + (machine.join_by_ms - machine.requested_ms) + kLaunchMs,
                                 .fleet = machine.fleet,
                                 .worker = machine.name,
                                 .addresses = addresses,
                                 .ca_fingerprint = ca_fingerprint_};
  auto token = parts_.keys.create_join_token(request, now_ms);
  if (!token) return pass(token);
  return token->text.reveal();
}

// Its worker has departed: nobody uses them any more.
void OwnFleets::forget(const std::string& machine) {
  for (const JoinTokenInfo& token : parts_.keys.join_tokens()) {
    if (token.worker == machine) (void)parts_.keys.remove(token.id);
  }
  for (const KeyInfo& key : parts_.keys.list()) {
    if (key.worker != machine) continue;
    if (auto removed = parts_.keys.remove(key.id); !removed) {
      parts_.log.warning(concat("could not delete the key of machine '", machine, "': ", removed.error().message));
    }
  }
}

}  // namespace drover
