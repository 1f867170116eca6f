#include "sim/happenings/jobs.h"

#include "base/text.h"
#include "sim/stage.h"

namespace drover::sim {
namespace {

std::string place_of(const Submit& it) {
  std::string out;
  if (it.place != JobPlace{}) {
    out += concat("; queue ", it.place.queue, ", share '", it.place.share, "', priority ", it.place.priority);
  }
  for (const Forerunner& after : it.after) out += concat(after.each ? ", item by item" : "", ", after job ", after.job);
  if (it.sequential) out += ", one after the other";
  if (it.max_running > 0) out += concat(", at most ", it.max_running, " at a time");
  if (it.job_timeout_ms > 0) out += concat(", stopped after ", it.job_timeout_ms, " ms");
  return out;
}

}  // namespace

std::string image_name(std::uint32_t image) {
  return concat("image-", image);
}

std::string Submit::describe() const {
  return concat(
      "submit job ", job, ": ",
      stream.empty() ? concat(total) : concat("messages of ", stream, until_empty ? " until it is empty as" : " as"),
      " items of ", nature.typical_ms, " ms, ", nature.fail_percent, "% fail, ", nature.hang_percent, "% hang; tries ",
      policy.max_tries, ", lost limit ", policy.lost_limit, ", retry after ", policy.retry_delay_ms, " ms, timeout ",
      policy.timeout_ms, " ms, grace ", policy.grace_ms, " ms, ", policy.rules.size(), " rules",
      sim::describe(ask, require),
      policy.max_failures == Policy::kNoLimit ? std::string() : concat(", at most ", policy.max_failures, " failures"),
      place_of(*this), image > 0 ? concat(", in image ", image) : std::string());
}
void Submit::happen(Stage& stage) const {
  stage.jobs.submit(*this);
}

std::vector<Happening> Submit::smaller() const {
  return halved(*this, &Submit::total);
}

std::vector<Happening> Submit::plainer() const {
  std::vector<Happening> out;
  const auto without = [&](auto Submit::* trait) {
    Submit plain = *this;
    plain.*trait = Submit().*trait;
    if (plain.*trait != this->*trait) out.emplace_back(plain);
  };
  without(&Submit::after);
  without(&Submit::sequential);
  without(&Submit::max_running);
  without(&Submit::job_timeout_ms);
  without(&Submit::require);
  without(&Submit::ask);
  without(&Submit::place);
  without(&Submit::image);
  return out;
}

std::string Cancel::describe() const {
  return concat("cancel job ", job);
}
void Cancel::happen(Stage& stage) const {
  stage.jobs.cancel(job, job % 4 == 3);
}

std::string Retry::describe() const {
  return concat("retry job ", job);
}
void Retry::happen(Stage& stage) const {
  stage.jobs.retry(job);
}

std::string WatchItem::describe() const {
  return concat("somebody follows item ", item.value, " of job ", job);
}
void WatchItem::happen(Stage& stage) const {
  stage.jobs.watch(*this);
}

}  // namespace drover::sim
