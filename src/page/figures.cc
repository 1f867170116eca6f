#include "page/figures.h"

#include <algorithm>

#include "page/attempt_span.h"
#include "page/slim.h"

namespace drover::page {
namespace {

std::uint64_t at_least_none(std::int64_t value) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
}

}  // namespace

void Figures::add(const Attempt& attempt) {
  ++attempts;
  if (attempt.attempt.value > 1) ++retries;
  if (attempt.state == AttemptState::lost) ++lost;
  if (attempt.settled) ++settled;
  cpu_us += attempt.user_us + attempt.system_us;
  gpu_busy_us += attempt.gpu_busy_us;
  gpu_energy_mj += attempt.gpu_energy_mj;
  cost_microdollars += attempt.cost_microdollars.value_or(0);
  on_demand_microdollars += attempt.on_demand_microdollars.value_or(0);
  read_bytes += at_least_none(attempt.read_bytes);
  written_bytes += at_least_none(attempt.written_bytes);
  printed_bytes += attempt.log.bytes;

  const bool succeeded = attempt.state == AttemptState::succeeded;
  if (attempt.ending != Ending::not_started && attempt.ending != Ending::lost) {
    duration_us.add(attempt.wall_us, succeeded);
    if (attempt.peak_memory_kib > 0) memory_kib.add(attempt.peak_memory_kib, succeeded);
    if (attempt.peak_gpu_memory_kib > 0) gpu_memory_kib.add(attempt.peak_gpu_memory_kib, succeeded);
  }
  slowest.add(attempt, length_us(attempt));
  largest.add(attempt, attempt.peak_memory_kib);
  busiest.add(attempt, attempt.gpu_busy_us);
  failures.add(attempt);

  if (const auto span = span_of(attempt)) {
    busy_us += span->length_us;
    grid.add(attempt, *span);
  }
  if (every_attempt_is_a_bar()) {
    bars.push_back(slim(attempt));
  } else {
    bars.clear();
    bars.shrink_to_fit();
  }
}

std::int64_t Figures::wall_us() const {
  std::int64_t sum_us = 0;
  for (const auto& stretch : grid.stretches()) sum_us += stretch.to_us - stretch.from_us;
  return sum_us;
}

double Figures::utilisation() const {
  const double offered_us = static_cast<double>(wall_us()) * static_cast<double>(grid.rows().slots());
  return offered_us > 0 ? std::min(static_cast<double>(busy_us) / offered_us, 1.0) : 0;
}

Result<Figures> read_figures(StoreReader& reader, JobId job, std::function<std::string(std::string_view)> shape) {
  Figures figures(std::move(shape));
  auto read = reader.each_attempt(job, ItemIndex{0}, [&](const Attempt& attempt) {
    figures.add(attempt);
    return true;
  });
  if (!read) return pass(read);
  return figures;
}

}  // namespace drover::page
