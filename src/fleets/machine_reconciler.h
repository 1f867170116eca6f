// Compares what the core says of a fleet's machines with what their provider lists, and does something about the
// difference: intents are launched, machines that are not needed are terminated, and the core hears what became of
// each. A machine that the core does not know is terminated if it was launched for this fleet, and else left alone.
//
// A list may lag behind, by up to a minute: a machine is gone only when several lists in a row, over that time, have
// omitted it. One list is enough if the provider says that its lists are exact. The same holds for the last machines of
// a fleet that is deleted: a launch that failed, as far as anybody heard, may still have succeeded.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/fleets/fleet_calls.h"
#include "ports/provider.h"

namespace drover {

/// A fleet's machines, as of one moment.
struct FleetWork {
  std::vector<MachineRecord> records;  // of its machines
  std::function<Labels(const Machine&)> labels;  // that their workers have
  bool is_deleting = false;                      // the fleet
  bool may_have_others = false;                  // its provider may have machines that are not among these

  auto machines() const { return machines_of(records); }
};

class MachineReconciler {
 public:
  struct Outside {
    std::function<Result<std::string>(const Machine& machine)> join_token;
    std::function<Result<void>(const MachineNews& news)> tell;  // returns when the core's answer is durable
    std::function<Result<void>()> tell_empty;                   // likewise: nothing is left of a fleet that is deleted
    std::function<void(const std::string& text)> notice;
    std::function<std::int64_t()> elapsed_ms;  // never goes back
    std::string server = {};                   // this one, as providers know it
    std::stop_token stop = {};                 // the provider is asked nothing more
  };
  /// What so many lists in a row have omitted, for so long, is not there.
  static constexpr std::uint64_t kMissedLists = 3;
  static constexpr std::int64_t kMissedMs = 60'000;

  MachineReconciler(std::string fleet, Provider& provider, Outside outside)
      : fleet_(std::move(fleet)), provider_(provider), outside_(std::move(outside)), pace_(provider.pace()) {}

  /// May be called at any time, and does what is due: launches, then terminates, then a list. A call that
  /// a stop interrupts is not reported: its intent remains, and the next reconciler carries it out.
  void turn(const FleetWork& work);

  /// What is wrong with the provider, as of the last turn, for people.
  std::vector<std::string> troubles() const;

 private:
  struct Absence {
    std::uint64_t lists = 0;
    std::int64_t since_ms = 0;
  };

  /// A machine that is to end, and when to tell the provider so again.
  struct Ending {
    std::int64_t next_ms = 0;
    std::int64_t retry_ms = 0;  // 0: the last call succeeded
  };

  void launch_all(const FleetWork& work);
  void launch(const Machine& machine, const Labels& labels);
  void list();
  bool is_list_due(const FleetWork& work) const;
  void merge_copies(MachineList& listed);
  void compare(const FleetWork& work, const MachineList& listed);
  void compare(const Machine& machine, const ListedMachine* listed, bool is_exact);
  void look_if_empty(const FleetWork& work, bool lists_some, bool is_exact);
  bool is_absent(Absence& absence, bool is_exact) const;
  bool is_ours(const ListedMachine& stray) const;
  void leave_alone(const std::vector<std::string>& machines);
  void terminate_due(std::vector<std::string> machines);
  void terminate(const std::string& machine, Ending& ending);
  void tell(const MachineNews& news);
  void say_once(const std::string& about, const std::string& text);

  const std::string fleet_;
  Provider& provider_;
  const Outside outside_;
  const ProviderPace pace_;
  std::int64_t asked_ms_ = 0;              // for the last list that came
  std::int64_t heard_ms_ = 0;              // likewise, when it came
  std::optional<MachineList> last_;        // nothing: there was none, or the last one failed
  bool is_compared_ = false;               // the last list
  bool is_before_launch_ = false;          // likewise: it was asked for before the last launch
  std::optional<std::int64_t> tried_ms_;   // when the provider had answered the last question for a list, or failed to
  std::int64_t list_retry_ms_ = 0;         // how long to wait after one that failed; 0: it did not
  std::map<std::string, Absence> missed_;  // machines that the last lists omitted
  Absence empty_;                          // of all machines
  std::set<std::string> answered_;         // intents; what it is given may be older than the answer
  std::set<std::string> strays_;           // that are being terminated
  std::map<std::string, Ending> ending_;   // machines that the provider was told to terminate
  std::map<std::string, std::string> said_;            // by what it is about
  std::map<std::string, std::string> not_terminated_;  // likewise, by machine
};

}  // namespace drover
