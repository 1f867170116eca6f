// The server's fleets: who keeps them, the providers that there are on this server, and what a machine needs to join.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/command.h"
#include "keys/key_ring.h"
#include "ports/clock.h"
#include "server/command_shapes.h"
#include "server/fleet_keeper.h"
#include "server/server_log.h"

namespace drover {

class OwnFleets {
 public:
  struct Parts {
    std::function<Result<Effect>(Command)> ask;  // answered when it is durable
    std::function<std::int64_t()> now_ms;
    KeyRing& keys;
    ServerLog& log;
    SteadyClock& steady;
    std::string folder;                           // for machines of provider `local`
    std::string data;                             // the root below which their workers have their folders
    Resources here;                               // this machine
    std::map<std::string, std::string> commands;  // programs that launch machines, by name
    bool ends_with_server = false;                // the machines of this computer
    PriceList prices = {};
  };
  /// How workers reach the server.
  struct Reach {
    std::string from_here;                    // those on this machine
    std::vector<std::string> from_elsewhere;  // those on other machines try each
    std::string ca_pem;                       // of the authority that they know it by; empty: plain HTTP
  };
  explicit OwnFleets(Parts parts) : parts_(std::move(parts)) {}

  /// From now on fleets are kept. Where machines end with the server, it has a fleet from nothing to all of this
  /// machine, unless there is one of its name.
  Result<void> start(const Reach& reach);
  /// Machines go on as they are.
  void stop();
  /// What the engine says to nobody in particular, from any thread.
  void hear(const Effect& effect);

  Result<std::vector<std::string>> explain(const std::string& fleet);
  std::vector<std::string> troubles(const std::string& fleet, const FleetRules& rules) const;
  /// A signal asks the server to stop: the machines of this computer are drained first, and with the second one what
  /// runs on them is killed. False: it shall stop at once.
  bool postpones_stop();
  /// After that: no such machine is left.
  bool is_drained() const { return signals_ > 0 && keeper_->is_drained(); }

 private:
  Result<void> make_local();
  std::shared_ptr<FleetKeeper> keeper() const;
  FleetKeeper::Kind local();
  FleetKeeper::Kind command(const std::string& name, const std::string& program);
  Result<std::string> join_token(const Machine& machine, const std::vector<std::string>& addresses);
  void forget(const std::string& machine);

  const Parts parts_;
  Reach reach_;
  std::string ca_fingerprint_;
  int signals_ = 0;                                               // the main thread's
  std::map<std::string, std::unique_ptr<CommandShapes>> shapes_;  // of each program
  mutable std::mutex keeper_mutex_;  // guards the pointer; nobody waits for the core while holding it
  std::shared_ptr<FleetKeeper> keeper_;
};

}  // namespace drover
