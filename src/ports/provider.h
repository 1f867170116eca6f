// What gives machines to a fleet. provide/ has the adapters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/resources.h"
#include "base/result.h"

namespace drover {

/// A machine to launch. Its name is unique for all time: it is the token by which the same order is launched once.
struct MachineOrder {
  std::string name;
  std::string fleet;
  std::string shape;
  Resources has;
  bool spot = false;  // one that may be taken away, for less money
  Labels labels;
  std::string join_token;  // with which its worker joins, under that name
};

/// A machine that the provider has, whatever it is doing.
struct ListedMachine {
  std::string name;
  std::string id;           // as the provider calls it
  bool has_ended = false;   // it runs no more; terminate() removes what is left of it
  std::string note = {};    // for people: why it has ended, as far as the provider knows
  std::string fleet = {};   // that it was launched for, as the provider's own tag has it; empty: it does not say
  std::string server = {};  // likewise: the server that it was launched for
};

struct MachineList {
  std::vector<ListedMachine> machines;  // by name
  /// It has all machines there were when it was asked for. Otherwise it may omit some for a while, and still have some
  /// that are gone.
  bool is_exact = false;
};

/// How often a provider is asked. The calls of most cost something, and are limited.
struct ProviderPace {
  std::int64_t busy_list_ms = 2'000;   // from one list to the next, while machines are coming or leaving
  std::int64_t idle_list_ms = 10'000;  // likewise, while nothing changes
  std::int64_t terminate_ms = 15'000;  // until a machine that is still there is terminated again
  std::int64_t retry_ms = 1'000;       // after a list or terminate that failed; twice as long after each further one
  std::int64_t longest_retry_ms = 30'000;  // of a terminate; of a list, `idle_list_ms`
  std::int64_t row_ms = 5'000;  // after so long a row of launches, or of terminates, is interrupted for other calls
};
/// Of a provider whose calls take next to nothing: whenever there may be something new.
inline constexpr ProviderPace kUnpaced = {
    .busy_list_ms = 0, .idle_list_ms = 0, .terminate_ms = 0, .retry_ms = 0, .longest_retry_ms = 0};

/// The machines of one fleet. One call at a time; a call may take a while, within a bound of the provider's own.
class Provider {
 public:
  virtual ~Provider() = default;

  /// What the provider calls it. Launching a machine that it has already is launching nothing.
  virtual Result<std::string> launch(const MachineOrder& order) = 0;
  /// The machine is going to end; when it has, and nothing is left of it, list() does not name it any more. One that
  /// the provider does not have is no error. Called again until it has ended.
  virtual Result<void> terminate(const std::string& name) = 0;
  /// All that it has of this fleet.
  virtual Result<MachineList> list() = 0;
  virtual ProviderPace pace() const { return {}; }
};

}  // namespace drover
