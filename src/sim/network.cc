#include "sim/network.h"

namespace drover::sim {

std::int64_t Network::delay_ms() {
  const std::int64_t usual_ms = static_cast<std::int64_t>(random_.below(5));
  if (weather_.most_delay_ms == 0 || !random_.one_in(4)) return usual_ms;
  return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(weather_.most_delay_ms)));
}

void Network::bring(std::function<void()> arrive) {
  if (random_.below(1000) < weather_.loss_permille) return;
  if (random_.below(1000) < weather_.double_permille) events_.after(delay_ms(), arrive);
  events_.after(delay_ms(), std::move(arrive));
}

void Network::cut(const Partition& partition) {
  const auto change = [this, partition](int by) {
    if (partition.cut != Cut::to_worker) cut_to_server_[partition.worker] += by;
    if (partition.cut != Cut::to_server) cut_to_worker_[partition.worker] += by;
  };
  change(1);
  events_.after(partition.for_ms, [change] { change(-1); });
}

void Network::change_weather(const BadWeather& weather) {
  weather_ = weather;
  events_.after(weather.for_ms, [this, number = ++weather_number_] {
    if (number == weather_number_) weather_ = {};
  });
}

}  // namespace drover::sim
