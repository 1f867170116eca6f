// A scheduling policy of AWS Batch as the order of a queue.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cmath>

#include "core/queue.h"

namespace drover::aws {

/// What a policy leaves out is usual.
inline void apply_share_policy(const boost::json::object& policy, Queue& queue) {
  queue.order = QueueOrder::fair;
  queue.decay_s = Queue::kUsualDecayS;
  queue.reserved_percent = 0;
  queue.weights.clear();
  const boost::json::value* fair = policy.if_contains("fairsharePolicy");
  if (fair == nullptr) return;
  const boost::json::object& said = fair->get_object();
  if (const auto* it = said.if_contains("shareDecaySeconds"); it != nullptr && it->get_int64() > 0) {
    queue.decay_s = it->get_int64();
  }
  if (const auto* it = said.if_contains("computeReservation")) {
    queue.reserved_percent = static_cast<std::uint32_t>(it->get_int64());
  }
  const auto* shares = said.if_contains("shareDistribution");
  if (shares == nullptr) return;
  for (const boost::json::value& it : shares->get_array()) {
    const auto* weight = it.get_object().if_contains("weightFactor");
    queue.weights.push_back({std::string(it.get_object().at("shareIdentifier").get_string()),
                             weight == nullptr ? ShareWeight::kOne
                                               : static_cast<std::uint32_t>(
                                                     std::llround(weight->to_number<double>() * ShareWeight::kOne))});
  }
}

}  // namespace drover::aws
