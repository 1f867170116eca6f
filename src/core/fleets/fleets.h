// The part of the core that keeps fleets and their machines. A machine begins as an intent, which is durable before its
// provider is called, and ends when its provider no longer lists it. What a fleet needs is planned elsewhere and comes
// back as a command (ScaleFleet); what providers say comes as another (MachineNews).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "core/attempt_costs.h"
#include "core/command.h"
#include "core/journal.h"
#include "core/machine_workers.h"

namespace drover {

/// For how long, and how many at most, machines that are gone are remembered.
inline constexpr std::int64_t kGoneMachineKeptMs = 3'600'000;
inline constexpr std::size_t kMostGoneMachines = 1000;
/// After a restart, machines that were to join meanwhile have at least so long to do it.
inline constexpr std::int64_t kJoinAfterRestartMs = 60'000;
/// How long a fleet waits after its first failed launch; twice as long after each further one, up to the longest.
inline constexpr std::int64_t kFirstBackOffMs = 1000;
inline constexpr std::int64_t kLongestBackOffMs = 300'000;
/// A machine that ends sooner than this after it joined, unasked and before an item has ended on it, has failed.
inline constexpr std::int64_t kEarlyEndMs = 120'000;

struct FleetRecords {
  std::map<std::string, Fleet> fleets;
  std::map<std::string, Machine> machines;

  Result<void> restore(const PutFleet& put);
  Result<void> restore(const PutMachine& put);
  void add_to(Hasher& hasher) const;
};

/// What follows from the records.
struct FleetIndexes {
  struct MachineCount {
    std::uint64_t machines = 0;
    std::uint64_t milli_cpus = 0;

    bool operator==(const MachineCount&) const = default;
  };
  std::map<std::string, MachineCount> machine_counts;             // of each fleet: machines that are not gone
  std::set<std::pair<std::int64_t, std::string>> join_deadlines;  // of machines that have not joined
  std::int64_t joins_spared_until_ms = 0;                         // none of these has failed before
  std::set<std::pair<std::int64_t, std::string>> machines_gone;   // by since when
  std::map<std::string, MachineRecord> machine_records;           // of all machines: what a question shares
};

class Fleets : public MachineListener, public AttemptCosts {
 public:
  Fleets(FleetRecords& records, FleetIndexes& now, Journal& journal, MachineWorkers& workers)
      : records_(records), now_(now), journal_(journal), workers_(workers) {}

  void on(Ticket ticket, const SetFleet& command);
  void on(Ticket ticket, const DropFleet& command);
  void on(Ticket ticket, const PauseFleet& command);
  void on(Ticket ticket, const ScaleFleet& command);
  void on(Ticket ticket, const MachineNews& command);
  void on(Ticket ticket, const FleetEmptied& command);

  /// From records, when workers are known.
  void load();

  void pass_time();
  std::optional<std::int64_t> next_deadline() const;

  void on_worker_present(const std::string& worker, const std::string& fleet) override;
  void on_worker_departed(const std::string& worker, const std::string& fleet, std::string_view how) override;

  std::optional<AttemptCost> charge(WorkerId worker, const Resources& ask, std::int64_t wall_us) override;
  void on_item_ended(WorkerId worker) override;

  void take_changes(std::vector<Mutation>& out);

 private:
  Fleet* find(Ticket ticket, const std::string& fleet);
  Machine* machine_of(const std::string& worker, const std::string& fleet);
  bool may_launch(const Fleet& fleet, const ScaleFleet::Launch& launch) const;
  void launch(Fleet& fleet, const ScaleFleet::Launch& launch);
  bool drain(const std::string& fleet, const ScaleFleet::Drain& drain);
  void move(Machine& machine, MachineState to, const std::string& why);
  void begin_bill(Machine& machine);
  void add_to_costs(const Machine& gone);
  void count_failure(const Machine& machine, const std::string& why);
  void count_early_end(Machine& machine, const std::string& why);
  void prove(Machine& machine);
  void end_wait(Fleet& fleet, bool of_spot);
  void refuse_provider(Ticket ticket, const Fleet& fleet);
  void changed(const Machine& machine);
  void index(const Machine& machine);
  void unindex(const Machine& machine);
  void drop(const std::string& fleet);
  void forget(const std::string& machine);

  FleetRecords& records_;
  FleetIndexes& now_;
  Journal& journal_;
  MachineWorkers& workers_;
  Changed<std::string> fleets_{journal_};
  Changed<std::string> machines_{journal_};
};

}  // namespace drover
