#include "agent/report_outbox.h"

#include <algorithm>
#include <utility>

#include "agent/agent_faults.h"
#include "base/text.h"

namespace drover {

void ReportOutbox::add(SpooledEnd spooled) {
  const Place place = next_++;
  places_[spooled.ended.token] = place;
  if (!spooled.uploading) ready_.insert(place);
  queue_.emplace(place, std::move(spooled));
}

void ReportOutbox::on_uploaded(EndedAttempt ended) {
  const auto found = places_.find(ended.token);
  if (found == places_.end()) return;
  queue_.at(found->second) = {.ended = std::move(ended), .bytes = 0, .uploading = false};
  ready_.insert(found->second);
}

std::vector<EndedAttempt> ReportOutbox::take(std::uint64_t call) {
  std::vector<EndedAttempt> out;
  std::vector<Place> taken;
  std::size_t bytes = 0;
  std::size_t most = kMostItems;
  while (!ready_.empty()) {
    const Place place = *ready_.begin();
    const SpooledEnd& it = queue_.at(place);
    if (const auto limit = most_together_.find(place); limit != most_together_.end()) {
      most = std::min(most, limit->second);
    }
    if (out.size() >= most) break;
    if (!out.empty() && bytes + it.bytes > kMostBytes && !injected(AgentFault::reports_unbounded)) break;
    bytes += it.bytes;
    out.push_back(it.ended);
    taken.push_back(place);
    ready_.erase(ready_.begin());
  }
  if (!taken.empty()) calls_[call] = std::move(taken);
  return out;
}

void ReportOutbox::on_taken(std::uint64_t call) {
  const auto taken = calls_.extract(call);
  if (taken.empty()) return;
  for (const Place place : taken.mapped()) remove(place);
}

void ReportOutbox::on_lost(std::uint64_t call) {
  const auto taken = calls_.extract(call);
  if (taken.empty()) return;
  ready_.insert(taken.mapped().begin(), taken.mapped().end());
  for (const Place place : taken.mapped()) {
    if (injected(AgentFault::lost_results_doubled)) add(queue_.at(place));
  }
}

std::optional<ReportOutbox::Refused> ReportOutbox::on_refused(std::uint64_t call, const std::string& why) {
  const auto taken = calls_.extract(call);
  if (taken.empty()) return std::nullopt;
  const std::vector<Place>& places = taken.mapped();
  ready_.insert(places.begin(), places.end());
  if (places.size() > 1) {
    for (const Place place : places) most_together_[place] = places.size() / 2;
    return std::nullopt;
  }
  const Place place = places.front();
  const Token token = queue_.at(place).ended.token;
  if (!bare_.insert(place).second) {
    remove(place);
    return Refused{token, Refused::What::given_up};
  }
  EndedAttempt& ended = queue_.at(place).ended;
  ended.outcome.reason = concat("the server rejected the report of this attempt: ", why);
  ended.usage = {};
  ended.log = {};
  queue_.at(place).bytes = 0;
  return Refused{token, Refused::What::told_bare};
}

void ReportOutbox::clear() {
  calls_.clear();
  while (!queue_.empty()) remove(queue_.begin()->first);
}

std::vector<Token> ReportOutbox::take_told() {
  return std::exchange(told_, {});
}

std::vector<SpooledEnd> ReportOutbox::all() const {
  std::vector<SpooledEnd> out;
  out.reserve(queue_.size());
  for (const auto& [place, it] : queue_) out.push_back(it);
  return out;
}

void ReportOutbox::remove(Place place) {
  const auto node = queue_.extract(place);
  ready_.erase(place);
  most_together_.erase(place);
  bare_.erase(place);
  places_.erase(node.mapped().ended.token);
  told_.push_back(node.mapped().ended.token);
}

}  // namespace drover
