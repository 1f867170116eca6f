#include "wire/registry_json.h"

#include <boost/json.hpp>
#include <cmath>
#include <functional>

#include "base/name.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"

namespace drover {
namespace json = boost::json;
namespace {

/// Every field of an object by its own reader; the first thing that is wrong is the answer.
class Fields {
 public:
  using Read = std::function<std::string(const json::value&)>;  // what is wrong; empty: nothing

  void add(std::string_view name, Read read) { readers_.emplace_back(name, std::move(read)); }

  Result<void> read(std::string_view text, std::string_view what) const {
    json::error_code error;
    const json::value value = json::parse(text.empty() ? "{}" : text, error);
    if (error || !value.is_object()) {
      return fail(ErrorCode::bad_input,
                  concat(what, " is not a JSON object", error ? concat(": ", error.message()) : ""));
    }
    for (const auto& [name, given] : value.get_object()) {
      const auto reader = std::ranges::find_if(readers_, [&](const auto& it) { return it.first == name; });
      if (reader == readers_.end()) {
        return fail(ErrorCode::bad_input, concat("field '", utf8(std::string_view(name)), "' is not known"),
                    concat("there are ", names()));
      }
      if (given.is_null()) continue;
      if (const std::string wrong = reader->second(given); !wrong.empty()) {
        return fail(ErrorCode::bad_input, concat("field '", std::string_view(name), "' ", wrong));
      }
    }
    return {};
  }

 private:
  std::string names() const {
    std::string all;
    for (const auto& [name, read] : readers_) all += concat(all.empty() ? "" : ", ", name);
    return all;
  }

  std::vector<std::pair<std::string_view, Read>> readers_;
};

template <class Number>
Fields::Read whole(Number& out, std::int64_t least, std::int64_t most) {
  return [&out, least, most](const json::value& value) -> std::string {
    json::error_code error;
    const auto number = value.to_number<std::int64_t>(error);
    if (error || number < least || number > most) return concat("is not a whole number from ", least, " to ", most);
    out = static_cast<Number>(number);
    return {};
  };
}

Fields::Read one_of(std::string& out, std::vector<std::string_view> choices) {
  return [&out, choices = std::move(choices)](const json::value& value) -> std::string {
    if (value.is_string() && std::ranges::find(choices, std::string_view(value.get_string())) != choices.end()) {
      out = value.get_string();
      return {};
    }
    std::string all;
    for (const std::string_view it : choices) all += concat(all.empty() ? "" : ", ", it);
    return concat("is none of ", all);
  };
}

Fields::Read names_list(std::vector<std::string>& out) {
  return [&out](const json::value& value) -> std::string {
    if (!value.is_array()) return "is not a list of names";
    out.clear();
    for (const json::value& it : value.get_array()) {
      if (!it.is_string() || !is_valid_name(std::string_view(it.get_string()))) return "is not a list of names";
      out.emplace_back(it.get_string());
    }
    return {};
  };
}

/// A share's name, which may end in a star.
bool is_share_pattern(std::string_view text) {
  if (text.ends_with('*')) text.remove_suffix(1);
  return text.size() <= 255 && std::ranges::all_of(text, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
         });
}

std::string read_weights(const json::value& value, std::vector<ShareWeight>& out) {
  constexpr std::size_t kMostWeights = 500;
  if (!value.is_object()) return "is not an object of weights, such as {\"team-a\": 1, \"batch*\": 2.5}";
  if (value.get_object().size() > kMostWeights) return concat("has more than ", kMostWeights, " shares");
  std::vector<ShareWeight> weights;
  for (const auto& [share, weight] : value.get_object()) {
    json::error_code error;
    const double factor = weight.to_number<double>(error);
    if (error || !(factor >= 0.0001) || factor > 999.9999) {
      return concat("gives share '", utf8(std::string_view(share)), "' what is not a weight from 0.0001 to 999.9999");
    }
    if (!is_share_pattern(share)) return concat("names '", utf8(std::string_view(share)), "', which cannot be a share");
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

json::object queue_to_json(const Queue& queue) {
  json::object weights;
  for (const ShareWeight& it : queue.weights) weights[it.share] = static_cast<double>(it.weight) / ShareWeight::kOne;
  json::array fleets;
  for (const std::string& it : queue.fleets) fleets.emplace_back(it);
  return {{"name", queue.name},
          {"priority", queue.priority},
          {"enabled", queue.enabled},
          {"order", to_string(queue.order)},
          {"decay_s", queue.decay_s},
          {"reserved_percent", queue.reserved_percent},
          {"weights", std::move(weights)},
          {"fleets", std::move(fleets)},
          {"created_ms", queue.created_ms == 0 ? json::value(nullptr) : json::value(queue.created_ms)}};
}

Result<Queue> queue_from_json(std::string_view text, Queue queue) {
  Fields fields;
  std::string order(to_string(queue.order));
  fields.add("priority", whole(queue.priority, 0, Queue::kHighestPriority));
  fields.add("enabled", [&](const json::value& value) -> std::string {
    if (!value.is_bool()) return "is neither true nor false";
    queue.enabled = value.get_bool();
    return {};
  });
  fields.add("order", one_of(order, {"first_come", "fair"}));
  fields.add("decay_s", whole(queue.decay_s, 0, Queue::kMostDecayS));
  fields.add("reserved_percent", whole(queue.reserved_percent, 0, 99));
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
  Fields fields;
  fields.add("provider", one_of(provider, {"local", "kubernetes", "slurm", "ec2", "gce", "command"}));
  fields.add("least", whole(least, 0, 1'000'000));
  fields.add("most", whole(most, 0, 1'000'000));
  fields.add("spot", [&](const json::value& value) -> std::string {
    if (!value.is_bool()) return "is neither true nor false";
    spot = value.get_bool();
    return {};
  });
  fields.add("bid_percent", whole(bid_percent, 1, 1000));
  fields.add("shapes", names_list(shapes));
  fields.add("policy", one_of(policy, {"demand", "step", "backlog", "deadline", "budget"}));
  if (auto read = fields.read(text, "the fleet"); !read) return pass(read);
  if (least > most) {
    return fail(ErrorCode::bad_input, concat("'least' is ", least, ", which is more than 'most', ", most),
                "say less of the one, or more of the other");
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
