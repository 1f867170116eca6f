#include "wire/registry_json.h"

#include <boost/json.hpp>
#include <cmath>

#include "base/name.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "wire/body_fields.h"

namespace drover {
namespace json = boost::json;
namespace {

BodyFields::Read names_list(std::vector<std::string>& out) {
  return [&out](const json::value& value) -> std::string {
    if (!value.is_array()) return "must be a list of names";
    out.clear();
    for (const json::value& it : value.get_array()) {
      if (!it.is_string() || !is_valid_name(std::string_view(it.get_string()))) return "must be a list of names";
      out.emplace_back(it.get_string());
    }
    return {};
  };
}

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
  fields.add("fleets", names_list(queue.fleets));
  if (auto read = fields.read(text, "the queue"); !read) return pass(read);
  queue.order = order == "fair" ? QueueOrder::fair : QueueOrder::first_come;
  if (queue.decay_s == 0) queue.decay_s = Queue::kUsualDecayS;
  return queue;
}

Result<std::string> fleet_from_json(std::string_view text) {
  std::string provider = "local";
  std::uint64_t least = 0;
  std::uint64_t most = 1;
  bool spot = false;
  std::uint32_t bid_percent = 100;
  std::vector<std::string> shapes;
  std::string policy = "demand";
  BodyFields fields;
  fields.add("provider", BodyFields::one_of({"local", "kubernetes", "slurm", "ec2", "gce", "command"}, provider));
  fields.add("least", BodyFields::whole(0, 1'000'000, least));
  fields.add("most", BodyFields::whole(0, 1'000'000, most));
  fields.add("spot", BodyFields::flag(spot));
  fields.add("bid_percent", BodyFields::whole(1, 1000, bid_percent));
  fields.add("shapes", names_list(shapes));
  fields.add("policy", BodyFields::one_of({"demand", "step", "backlog", "deadline", "budget"}, policy));
  if (auto read = fields.read(text, "the fleet"); !read) return pass(read);
  if (least > most) {
    return fail(ErrorCode::bad_input, concat("'least' (", least, ") is greater than 'most' (", most, ")"),
                "lower 'least' or raise 'most'");
  }
  return json::serialize(json::object{{"provider", provider},
                                      {"least", least},
                                      {"most", most},
                                      {"spot", spot},
                                      {"bid_percent", bid_percent},
                                      {"shapes", json::array(shapes.begin(), shapes.end())},
                                      {"policy", policy}});
}

}  // namespace drover
