#include "sim/happenings/network_faults.h"

#include "base/text.h"
#include "sim/happenings/groups.h"
#include "sim/happenings/server_faults.h"
#include "sim/stage.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

// A worker leaves an image that could not be fetched alone for so long (agent/image_gate.h).
constexpr std::int64_t kLongestImagePauseMs = 5 * kMinute;

class NetworkFaultWriter : public ScriptWriter {
 public:
  using ScriptWriter::ScriptWriter;

  void write_hour(std::int64_t from_ms) override {
    if (random_.one_in(2)) write_brink(from_ms);
  }

  bool write_fault(std::uint64_t roll, std::int64_t at_ms, std::size_t worker) override {
    switch (roll) {
      case 6:
      case 7:
      case 8:
        draft_.add(at_ms, Partition{worker, static_cast<Cut>(random_.below(3)),
                                    draft_.short_or_long(50 * kSecond, 10 * kMinute)});
        return true;
      case 18: draft_.add(at_ms, RegistryOutage{draft_.short_or_long(2 * kMinute, 40 * kMinute)}); return true;
      case 21:
        draft_.add(at_ms, BadWeather{static_cast<std::uint32_t>(random_.below(150)),
                                     static_cast<std::uint32_t>(random_.below(100)), draft_.between(10, 20 * kSecond),
                                     draft_.between(kMinute, 10 * kMinute)});
        return true;
      default: return false;
    }
  }

 private:
  // Workers are cut off for about as long as a lease lasts, while commits are slow: what they say next waits in the
  // inbox when their leases are about to expire.
  void write_brink(std::int64_t from_ms) {
    const std::int64_t at_ms = from_ms + draft_.between(0, 50 * kMinute);
    draft_.add(at_ms, SlowDisk{draft_.between(300, 480), 4 * kMinute});
    for (std::size_t worker = 0; worker < draft_.script.workers.size(); ++worker) {
      const Partition cut{worker, Cut::to_server, draft_.between(45 * kSecond, 60 * kSecond)};
      draft_.add(at_ms + draft_.between(0, kMinute), cut);
    }
  }
};

}  // namespace

HappeningGroup network_faults() {
  return group_of<NetworkFaultWriter>();
}

std::string Partition::describe() const {
  const char* how = cut == Cut::both ? "both ways" : cut == Cut::to_server ? "to the server" : "to the worker";
  return concat("worker ", worker, " is cut off (", how, ") for ", for_ms, " ms");
}
void Partition::happen(Stage& stage) const {
  stage.network.cut(*this);
}

std::string BadWeather::describe() const {
  return concat("of 1000 packets ", loss_permille, " are lost and ", double_permille, " doubled, delayed by ",
                most_delay_ms, " ms at most, for ", for_ms, " ms");
}
void BadWeather::happen(Stage& stage) const {
  stage.network.change_weather(*this);
}

std::int64_t RegistryOutage::lasts_ms() const {
  return for_ms + kLongestImagePauseMs;
}
std::string RegistryOutage::describe() const {
  return concat("no image can be fetched for ", for_ms, " ms");
}
void RegistryOutage::happen(Stage& stage) const {
  stage.registry.go_out(*this);
}

}  // namespace drover::sim
