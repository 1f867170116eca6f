// drover queue: where a server's jobs wait, and by which rules.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/name.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/print.h"
#include "cli/server_verb.h"
#include "cli/table.h"
#include "core/queue.h"
#include "wire/registry_json.h"

namespace drover {
namespace json = boost::json;
namespace {

struct QueueFlags : AskingFlags {
  std::string queue;
  std::uint64_t priority = 0;
  std::string order;
  std::string decay;
  std::uint64_t reserve = 0;
  std::vector<std::string> weights;
  std::vector<std::string> fleets;
};

std::string path_of(const QueueFlags& flags) {
  return "/api/v1/queues/" + url_escape(flags.queue);
}

// The API's word is one word.
std::string order_text(const json::value& queue) {
  return text_in(queue, "order") == "fair" ? "fair" : "first-come";
}

std::string decay_text(const json::value& queue) {
  return format_duration_us(static_cast<std::int64_t>(number_in(queue, "decay_s")) * 1'000'000);
}

/// One word, and what it means.
std::pair<std::string_view, std::string_view> state_of(const json::value& queue) {
  if (!flag_in(queue, "enabled")) return {"disabled", ": it accepts no jobs and starts none of its waiting jobs"};
  if (flag_in(queue, "closed")) return {"closed", ": it accepts no jobs and runs those that it has"};
  return {"enabled", ""};
}

void print_list(const json::value& answer) {
  Table table({{.title = "NAME", .cut = true},
               {.title = "PRIORITY", .align = Column::Align::right},
               {.title = "STATE"},
               {.title = "ORDER"},
               {.title = "FLEETS", .spare = 1},
               {.title = "WEIGHTS", .cut = true}});
  for (const json::value& it : list_in(answer, "queues")) {
    table.add({text_in(it, "name"), std::to_string(number_in(it, "priority")), std::string(state_of(it).first),
               order_text(it), words_text(list_in(it, "fleets")), pairs_text(object_in(it, "weights"))});
  }
  table.print();
}

std::string short_description(const json::value& queue) {
  const auto [state, meaning] = state_of(queue);
  return fmt::format("queue '{}' is {}{}", text_in(queue, "name"), state, meaning);
}

std::string described(const json::value& queue) {
  std::string out = short_description(queue);
  const auto line = [&](std::string_view name, const std::string& value) {
    out += fmt::format("\n  {:<10} {}", name, value);
  };
  line("priority", fmt::format("{}; queues with a higher priority are served first", number_in(queue, "priority")));
  const bool fair = order_text(queue) == "fair";
  line("order", fair ? "fair: the share with the least recent usage comes first"
                     : "first-come: by job priority, then by submission time");
  if (fair) {
    line("decay", fmt::format("past usage is halved every {}", decay_text(queue)));
    if (const auto percent = number_in(queue, "reserved_percent"); percent > 0) {
      line("reserve", fmt::format("{} % of all CPUs while one share is active, {} % while two are, …", percent,
                                  percent * percent / 100));
    }
    if (const std::string weights = pairs_text(object_in(queue, "weights")); !weights.empty()) {
      line("weights", weights + "; a share with weight 2 gets half the CPUs of one with weight 1");
    }
  }
  const std::string fleets = words_text(list_in(queue, "fleets"));
  line("fleets", fleets.empty() ? "all" : fleets);
  return out;
}

Result<int> show_queue(ServerClient& client, const QueueFlags& flags) {
  auto answer = client.get(path_of(flags));
  if (!answer) return pass(answer);
  return tell(flags.common, *answer, described(*answer));
}

/// "a=2" → the weight of one share, beside those that are there.
Result<void> add_weight(const std::string& word, json::object& weights) {
  const std::size_t equals = word.rfind('=');
  const auto wrong = [&] {
    return fail(ErrorCode::bad_input, fmt::format("--weight '{}' is not SHARE=WEIGHT", word),
                "write --weight team-a=2; a weight must be a number from 0.0001 to 999.9999");
  };
  if (equals == std::string::npos) return wrong();
  char* end = nullptr;
  const std::string number = word.substr(equals + 1);
  const double weight = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0' || !(weight >= 0.0001 && weight < 1000)) return wrong();
  const std::string share = word.substr(0, equals);
  if (!is_share_pattern(share)) {
    return fail(ErrorCode::bad_input, fmt::format("--weight '{}': '{}' is not a valid share name", word, share),
                "use letters, digits, '_', '.' and '-'; a trailing * matches all shares with that prefix");
  }
  weights[share] = weight;
  return {};
}

Result<json::object> settings(const QueueFlags& flags, const Verb& verb, const json::value& now) {
  json::object body;
  if (verb.count("--priority") > 0) body["priority"] = flags.priority;
  if (!flags.order.empty()) body["order"] = flags.order == "fair" ? "fair" : "first_come";
  if (!flags.decay.empty()) {
    auto decay_ms = parse_duration_ms(flags.decay);
    if (!decay_ms || *decay_ms < 1000) {
      return fail(ErrorCode::bad_input, fmt::format("--decay '{}' is not a time of at least one second", flags.decay),
                  "use a time such as 10m or 2h");
    }
    if (*decay_ms > Queue::kMostDecayS * 1000) {
      return fail(ErrorCode::bad_input, fmt::format("--decay {} is longer than a week", flags.decay),
                  "use a time such as 10m or 2h, at most 7d");
    }
    body["decay_s"] = *decay_ms / 1000;
  }
  if (verb.count("--reserve") > 0) body["reserved_percent"] = flags.reserve;
  if (!flags.weights.empty()) {
    json::object weights = object_in(now, "weights");
    for (const std::string& word : flags.weights) {
      if (auto added = add_weight(word, weights); !added) return pass(added);
    }
    body["weights"] = std::move(weights);
  }
  if (!flags.fleets.empty()) {
    json::array fleets;
    for (const std::string& it : flags.fleets) {
      if (it.empty()) continue;
      if (!is_valid_name(it)) {
        return fail(ErrorCode::bad_input, fmt::format("--fleet '{}' is not a valid fleet name", it),
                    "use letters, digits, '_', '.' and '-'; list fleets with 'drover fleet list'");
      }
      fleets.emplace_back(it);
    }
    body["fleets"] = std::move(fleets);
  }
  return body;
}

Result<int> set_queue(ServerClient& client, const QueueFlags& flags, const Verb& verb) {
  auto now = client.get(path_of(flags));
  const bool is_new = !now && now.error().code == ErrorCode::not_found;
  if (!now && !is_new) return pass(now);
  auto body = settings(flags, verb, is_new ? json::value() : *now);
  if (!body) return pass(body);
  if (body->empty() && !is_new) {
    return fail(ErrorCode::bad_input, fmt::format("nothing to change in queue '{}'", flags.queue),
                "see 'drover queue set --help' for the settings");
  }
  auto answer = client.put(path_of(flags), *body);
  if (!answer) return pass(answer);
  return tell(flags.common, *answer, (is_new ? "new " : "") + described(*answer));
}

// Of one that is there: a name that was mistyped must not become a new one.
Result<int> change_queue(ServerClient& client, const QueueFlags& flags, const json::object& settings) {
  if (auto now = client.get(path_of(flags)); !now) return pass(now);
  auto answer = client.put(path_of(flags), settings);
  if (!answer) return pass(answer);
  return tell(flags.common, *answer, short_description(*answer));
}

Result<int> remove_queue(ServerClient& client, const QueueFlags& flags) {
  auto answer = client.remove(path_of(flags));
  if (!answer) return pass(answer);
  return tell(flags.common, *answer, fmt::format("queue '{}' is deleted", flags.queue));
}

}  // namespace

void add_queue(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<QueueFlags>();
  Verb verb = app.add_subcommand("queue", "List, create, change and delete a server's queues");
  verb.require_subcommand(1);
  verb.footer(
      "Examples:\n  drover queue list\n  drover queue set night --priority 5\n"
      "  drover queue set default --order fair --weight team-a=1 --weight team-b=2");
  const auto add = [&](const char* name, const char* help, const char* example, auto ask) {
    return add_server_verb(verb, name, help, example, *flags, invocation,
                           [flags, ask](ServerClient& client) { return ask(client, *flags); });
  };
  const auto about_one = [&](Verb it) {
    it.add_option("queue", flags->queue, "Name of the queue").type_name("QUEUE").required();
  };
  add("list", "List queues", "drover queue list",
      [](ServerClient& client, const QueueFlags& it) { return show_answer(client, it, "/api/v1/queues", print_list); });
  about_one(add("show", "Show a queue and its rules", "drover queue show night", show_queue));
  Verb setting = add_server_verb(
      verb, "set", "Create a queue, or change its settings",
      "drover queue set night --priority 5\n"
      "  drover queue set night --order fair --weight team-a=1 --weight 'batch*=4'",
      *flags, invocation, [flags, verb](ServerClient& client) { return set_queue(client, *flags, verb.part("set")); });
  about_one(setting);
  setting
      .add_option("--priority", flags->priority,
                  "Priority of the queue; higher priorities are served first (default: 1)")
      .type_name("N")
      .range(0, 1'000'000);
  setting
      .add_option("--order", flags->order,
                  "first-come: the oldest job first; fair: the share with the least usage first")
      .type_name("ORDER")
      .one_of({"fair", "first-come"});
  setting.add_option("--decay", flags->decay, "In a fair queue, half-life of past usage (default: 10m)")
      .type_name("TIME");
  setting
      .add_option("--reserve", flags->reserve,
                  "In a fair queue, percentage of the CPUs to reserve for shares that have no jobs yet")
      .type_name("PERCENT")
      .range(0, 99);
  setting
      .add_option("--weight", flags->weights,
                  "In a fair queue, factor by which a share's usage is multiplied; a higher weight means fewer CPUs; "
                  "repeatable (default: 1)")
      .type_name("SHARE=WEIGHT")
      .repeatable();
  setting
      .add_option("--fleet", flags->fleets,
                  "Fleet whose workers serve the queue; '' for all; repeatable (default: all)")
      .type_name("FLEET")
      .repeatable();
  about_one(add("enable", "Let a queue accept and start jobs again", "drover queue enable night",
                [](ServerClient& client, const QueueFlags& it) {
                  return change_queue(client, it, {{"enabled", true}, {"closed", false}});
                }));
  about_one(
      add("disable", "Stop a queue from accepting new jobs and starting waiting ones", "drover queue disable night",
          [](ServerClient& client, const QueueFlags& it) { return change_queue(client, it, {{"enabled", false}}); }));
  about_one(
      add("close", "Stop a queue from accepting new jobs; it runs those that it has", "drover queue close night",
          [](ServerClient& client, const QueueFlags& it) { return change_queue(client, it, {{"closed", true}}); }));
  about_one(add("delete", "Delete a queue that has no waiting jobs", "drover queue delete night", remove_queue));
}

}  // namespace drover
