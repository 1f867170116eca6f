// `drover server`: the core behind HTTP. This file is the table of contents of its parts.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/resources.h"
#include "base/result.h"
#include "ports/image_resolver.h"
#include "server/server_log.h"
#include "wire/shapes/price_list.h"

namespace drover {

/// The fleet of `drover up`.
inline constexpr std::string_view kLocalFleet = "local";

/// Where it listens unless it is told otherwise.
inline constexpr std::string_view kDefaultAddress = "127.0.0.1:8750";

struct ServerOptions {
  std::string data;                    // the root; the server's own folder is below it
  std::vector<std::string> listen;     // empty: 127.0.0.1:8750
  std::vector<std::string> advertise;  // names and addresses by which others reach it
  std::uint64_t min_free_bytes = std::uint64_t{256}
                                 << 20;  // on its disk: with less, no new jobs; with half of it, no logs
  bool plain_http = false;               // no TLS although it listens beyond this machine
  std::int64_t lease_ms = 60'000;        // how long a worker may be silent before others get its items
  std::int64_t keep_ms = std::int64_t{7} * 24 * 3'600'000;  // how long ended jobs are kept; 0: for ever
  std::int64_t job_key_life_ms = std::int64_t{12} * 3'600'000;
  Resources here;                                     // this machine, for fleets whose provider is `local`
  std::map<std::string, std::string> fleet_commands;  // programs that launch machines, by the names that fleets use
  std::string batch_machines = "local";  // where machines of AWS Batch's managed environments come from: local, none,
                                         // or one of the programs
  PriceList prices;              // of machines
  bool has_local_fleet = false;  // it has one from the start, whose machines end before the server does
  ServerLog::Form log = ServerLog::Form::text;
  std::string version;  // of this program, for those who ask
  std::function<std::unique_ptr<ImageResolver>()> make_image_resolver;
};

class Server {
 public:
  /// Opens the store, loads the engine and listens: ready when it returns. SIGINT, SIGTERM and SIGHUP must be blocked
  /// in every thread.
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// "http://127.0.0.1:8750"
  const std::vector<std::string>& addresses() const;
  /// Until a signal says to stop, or the store fails.
  Result<void> run();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// Where a client on this machine finds the address and the key of the server with this data.
std::string server_address_file(const std::string& root);
std::string server_key_file(const std::string& root);
/// The Unix socket on which it serves programs of its own user and of root, whatever else it listens on.
std::string server_socket_file(const std::string& root);

}  // namespace drover
