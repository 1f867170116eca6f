// What happens to the network and to the registry.
#pragma once

#include <cstdint>
#include <string>

#include "sim/happening.h"

namespace drover::sim {

struct HappeningGroup;

enum class Cut : std::uint8_t { both, to_server, to_worker };
struct Partition {
  std::size_t worker = 0;  // its place in Script::workers
  Cut cut = Cut::both;
  std::int64_t for_ms = 0;

  static constexpr bool kIsFault = true;
  std::int64_t lasts_ms() const { return for_ms; }
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// Packets get lost, late and doubled, everybody's.
struct BadWeather {
  std::uint32_t loss_permille = 0;
  std::uint32_t double_permille = 0;
  std::int64_t most_delay_ms = 0;
  std::int64_t for_ms = 0;

  static constexpr bool kIsFault = true;
  std::int64_t lasts_ms() const { return for_ms; }
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// Images that are not on a machine yet cannot be fetched.
struct RegistryOutage {
  std::int64_t for_ms = 0;

  static constexpr bool kIsFault = true;
  std::int64_t lasts_ms() const;
  std::string describe() const;
  void happen(Stage& stage) const;
};

HappeningGroup network_faults();

}  // namespace drover::sim
