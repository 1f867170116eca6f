#include "wire/registry_json.h"

#include <boost/json.hpp>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "wire/body_fields.h"

namespace drover {
namespace json = boost::json;
namespace {

std::string read_weights(const json::value& value, std::vector<ShareWeight>& out) {
  constexpr std::size_t kMostWeights = 500;
  if (!value.is_object()) return "must be an object of weights, such as {\"team-a\": 1, \"batch*\": 2.5}";
  if (value.get_object().size() > kMostWeights) return concat("has more than ", kMostWeights, " shares");
  std::vector<ShareWeight> weights;
  for (const auto& [share, weight] : value.get_object()) {
    json::error_code error;
    const double factor = weight.to_number<double>(error);
    if (error || !(factor >= 0.0001) || factor > 999.9999) {
      return concat("gives share '", utf8(std::string_view(share)), "' an invalid weight: use 0.0001 to 999.9999");
    }
    if (!is_share_pattern(share))
      return concat("contains the invalid share name '", utf8(std::string_view(share)), "'");
    weights.push_back({std::string(share), static_cast<std::uint32_t>(std::llround(factor * ShareWeight::kOne))});
  }
  // The longer name first, and a star last: what is said of fewer is said of them.
  std::ranges::stable_sort(weights, [](const ShareWeight& a, const ShareWeight& b) {
    return std::pair(a.share.ends_with('*'), b.share.size()) < std::pair(b.share.ends_with('*'), a.share.size());
  });
  out = std::move(weights);
  return {};
}

}  // namespace

bool is_share_pattern(std::string_view text) {
  if (text.ends_with('*')) text.remove_suffix(1);
  return text.size() <= 255 && std::ranges::all_of(text, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
         });
}

json::object queue_to_json(const Queue& queue) {
  json::object weights;
  for (const ShareWeight& it : queue.weights) weights[it.share] = static_cast<double>(it.weight) / ShareWeight::kOne;
  json::array fleets;
  for (const std::string& it : queue.fleets) fleets.emplace_back(it);
  return {{"name", queue.name},
          {"priority", queue.priority},
          {"enabled", queue.enabled},
          {"closed", queue.closed},
          {"order", to_string(queue.order)},
          {"decay_s", queue.decay_s},
          {"reserved_percent", queue.reserved_percent},
          {"weights", std::move(weights)},
          {"fleets", std::move(fleets)},
          {"created_ms", queue.created_ms == 0 ? json::value(nullptr) : json::value(queue.created_ms)}};
}

Result<Queue> queue_from_json(std::string_view text, Queue queue) {
  BodyFields fields;
  std::string order(to_string(queue.order));
  fields.add("priority", BodyFields::whole(0, Queue::kHighestPriority, queue.priority));
  fields.add("enabled", BodyFields::flag(queue.enabled));
  fields.add("closed", BodyFields::flag(queue.closed));
  fields.add("order", BodyFields::one_of({"first_come", "fair"}, order));
  fields.add("decay_s", BodyFields::whole(0, Queue::kMostDecayS, queue.decay_s));
  fields.add("reserved_percent", BodyFields::whole(0, 99, queue.reserved_percent));
  fields.add("weights", [&](const json::value& value) { return read_weights(value, queue.weights); });
  fields.add("fleets", BodyFields::names(queue.fleets));
  if (auto read = fields.read(text, "the queue"); !read) return pass(read);
  queue.order = order == "fair" ? QueueOrder::fair : QueueOrder::first_come;
  if (queue.decay_s == 0) queue.decay_s = Queue::kUsualDecayS;
  return queue;
}

}  // namespace drover
