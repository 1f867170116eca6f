// drover fleet: the machines that a server launches when there is work, and drains when there is none.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <optional>
#include <tuple>

#include "base/money.h"
#include "base/name.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/job_text.h"
#include "cli/print.h"
#include "cli/server_verb.h"
#include "cli/table.h"
#include "wire/labels.h"
#include "wire/yaml_document.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr int kMostMachines = 1'000'000;

struct FleetFlags : AskingFlags {
  std::string fleet;
  std::string provider;
  std::string command;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  bool spot = false;
  bool no_spot = false;
  bool on_demand = false;
  bool no_on_demand = false;
  std::uint64_t bid = 0;
  std::vector<std::string> shapes;
  std::vector<std::string> labels;
  std::string policy;
  std::uint64_t most_cpus = 0;
  std::string stream;
  std::string queue;
  std::uint64_t items_per_machine = 0;
  std::uint64_t seconds_per_machine = 0;
  std::uint64_t desired = 0;
  std::string idle;
  std::string warm_up;
  std::string period;
  std::string join_within;
  std::uint64_t launches_per_minute = 0;
  std::string file;
};

/// What is told of a fleet beside its settings.
constexpr std::array kNotSettings = {
    "name",          "created_ms", "paused",       "deleting",         "failures", "trouble",          "retry_at_ms",
    "spot_failures", "machines",   "spot_trouble", "spot_retry_at_ms", "costs",    "provider_troubles"};

std::string path_of(const FleetFlags& flags) {
  return "/api/v1/fleets/" + url_escape(flags.fleet);
}

/// How many of its machines are in one of these states.
std::uint64_t machines_in(const json::value& fleet, std::initializer_list<std::string_view> states) {
  return static_cast<std::uint64_t>(std::ranges::count_if(list_in(fleet, "machines"), [&](const json::value& it) {
    return std::ranges::find(states, text_in(it, "state")) != states.end();
  }));
}

std::string state_text(const json::value& fleet) {
  if (flag_in(fleet, "deleting")) return "deleting";
  if (flag_in(fleet, "paused")) return "paused";
  if (number_in(fleet, "failures") > 0) return "failing";
  return number_in(fleet, "spot_failures") > 0 ? "spot failing" : "active";
}

bool has_costs(const json::value& it) {
  return !object_in(it, "costs").empty();
}

std::string dollars_in(const json::value& it, const char* name) {
  return has_costs(it) ? format_dollars(static_cast<std::int64_t>(number_in(object_in(it, "costs"), name))) : "";
}

void print_list(const json::value& answer) {
  using enum Column::Align;
  Table table({{.title = "NAME", .cut = true},
               {.title = "STATE"},
               {.title = "PROVIDER"},
               {.title = "JOINED", .align = right},
               {.title = "STARTING", .align = right},
               {.title = "LEAVING", .align = right},
               {.title = "LEAST", .align = right},
               {.title = "MOST", .align = right},
               {.title = "SPOT", .spare = 1},
               {.title = "POLICY"},
               {.title = "SHAPES", .spare = 2, .cut = true},
               {.title = "COST", .align = right, .spare = 1},
               {.title = "IDLE", .align = right, .spare = 3}});
  for (const json::value& it : list_in(answer, "fleets")) {
    table.add({text_in(it, "name"), state_text(it), text_in(it, "provider"),
               std::to_string(machines_in(it, {"joined"})), std::to_string(machines_in(it, {"requested", "starting"})),
               std::to_string(machines_in(it, {"draining", "leaving"})), std::to_string(number_in(it, "least")),
               std::to_string(number_in(it, "most")), flag_in(it, "spot") ? "yes" : "no", text_in(it, "policy"),
               words_text(list_in(it, "shapes")), dollars_in(it, "billed_microdollars"),
               dollars_in(it, "idle_microdollars")});
  }
  table.print();
}

Result<int> list_fleets(ServerClient& client, const FleetFlags& flags) {
  return show_answer(client, flags, "/api/v1/fleets", print_list);
}

std::string policy_text(const json::value& fleet) {
  const std::string policy = text_in(fleet, "policy");
  std::string out = policy;
  if (policy == "fixed") out += fmt::format(", {} wanted", number_in(fleet, "desired"));
  if (policy == "backlog") {
    const std::uint64_t items = number_in(fleet, "items_per_machine");
    out += items > 0 ? fmt::format(", {} items per machine", items)
                     : fmt::format(", {} s of work per machine", number_in(fleet, "seconds_per_machine"));
  }
  if (policy == "step") out += fmt::format(", {}", plural(list_in(fleet, "alarms").size(), "alarm"));
  if (const std::string stream = text_in(fleet, "stream"); !stream.empty())
    out += fmt::format(", of stream '{}'", stream);
  if (const std::string queue = text_in(fleet, "queue"); !queue.empty()) out += fmt::format(", of queue '{}'", queue);
  return out;
}

void print_machines(const json::value& fleet) {
  using enum Column::Align;
  if (list_in(fleet, "machines").empty()) return;
  Table table({{.title = "MACHINE", .cut = true},
               {.title = "STATE"},
               {.title = "SHAPE"},
               {.title = "SINCE"},
               {.title = "ID", .spare = 1},
               {.title = "COST", .align = right, .spare = 2},
               {.title = "WHY", .cut = true}});
  for (const json::value& it : list_in(fleet, "machines")) {
    const std::string ending = text_in(it, "ending");
    table.add({text_in(it, "name"), text_in(it, "state"), text_in(it, "shape"), local_time(number_in(it, "since_ms")),
               text_in(it, "provider_id"), dollars_in(it, "billed_microdollars"),
               ending.empty() ? text_in(it, "reason") : ending});
  }
  table.print();
}

int print_fleet(const FleetFlags& flags, const json::value& fleet, std::string_view head) {
  const auto line = [](std::string_view name, const std::string& value) {
    return value.empty() ? "" : fmt::format("\n  {:<12} {}", name, value);
  };
  std::string text = fmt::format("{}fleet '{}'", head, text_in(fleet, "name"));
  text += line("provider", text_in(fleet, "provider"));
  text += line("command", text_in(fleet, "command"));
  std::string machines = fmt::format("{} to {}", number_in(fleet, "least"), number_in(fleet, "most"));
  if (const std::uint64_t cpus = number_in(fleet, "most_cpus"); cpus > 0)
    machines += fmt::format(", at most {} CPUs", cpus);
  text += line("machines", machines);
  text += line("policy", policy_text(fleet));
  text +=
      line("spot", flag_in(fleet, "spot")
                       ? fmt::format("yes, for at most {}% of the on-demand price{}", number_in(fleet, "bid_percent"),
                                     flag_in(fleet, "on_demand") ? "; on-demand machines for items that cannot get one"
                                                                 : "; no on-demand machines")
                       : "no");
  text += line("shapes", words_text(list_in(fleet, "shapes")));
  text += line("labels", pairs_text(object_in(fleet, "labels")));
  if (fleet.as_object().contains("machines")) {
    text += line("state", state_text(fleet));
    if (has_costs(fleet)) {
      text += line("cost",
                   fmt::format("{}: {} for attempts, {} idle; {} on demand", dollars_in(fleet, "billed_microdollars"),
                               dollars_in(fleet, "attempts_microdollars"), dollars_in(fleet, "idle_microdollars"),
                               dollars_in(fleet, "on_demand_microdollars")));
    }
    if (const std::string trouble = text_in(fleet, "trouble"); !trouble.empty()) {
      text += line("last failure", fmt::format("{} (failed {}; next launch after {})", trouble,
                                          plural(number_in(fleet, "failures"), "time"),
                                          local_time(number_in(fleet, "retry_at_ms"))));
    }
    if (const std::string trouble = text_in(fleet, "spot_trouble"); !trouble.empty()) {
      text += line("spot failure", fmt::format("{} (failed {}; next spot machine after {})", trouble,
                                               plural(number_in(fleet, "spot_failures"), "time"),
                                               local_time(number_in(fleet, "spot_retry_at_ms"))));
    }
  }
  for (const json::value& trouble : list_in(fleet, "provider_troubles")) {
    if (trouble.is_string()) text += line("problem", std::string(trouble.get_string()));
  }
  const int status = tell(flags.common, fleet, text);
  if (!flags.common.json && !flags.common.quiet) print_machines(fleet);
  return status;
}

Result<int> show_fleet(ServerClient& client, const FleetFlags& flags) {
  auto answer = client.get(path_of(flags));
  if (!answer) return pass(answer);
  return print_fleet(flags, *answer, "");
}

struct SettingsFile {
  std::string path;
  Node node;
  json::object settings;
};

Result<SettingsFile> settings_in(const std::string& path) {
  auto text = read_fleet_text(path);
  if (!text) return pass(text);
  auto node =
      node_from_yaml(*text, {.what = "fleet", .examples = "the example in docs/fleets.md", .has_placeholders = false});
  if (!node) {
    return fail(ErrorCode::bad_input, fmt::format("{}:{}: {}", path, node.error().place.line, node.error().what),
                node.error().next);
  }
  if (const auto repeated = repeated_fields(*node); !repeated.empty()) {
    const RepeatedField& it = repeated.front();
    return fail(ErrorCode::bad_input,
                fmt::format("{}:{}: '{}' appears twice: first on line {}", path, it.place.line, it.path, it.first.line),
                "keep one of them");
  }
  json::error_code error;
  json::value settings = json::parse(node_to_json(*node), error);
  if (error || !settings.is_object()) {
    const char* why = node->kind == Node::Kind::null   ? "the file is empty"
                      : node->kind == Node::Kind::list ? "it is a list"
                                                       : "it is a single value";
    return fail(ErrorCode::bad_input, fmt::format("{} does not contain a fleet's settings: {}", path, why),
                "write one setting per line, such as 'most: 10'; docs/fleets.md has an example");
  }
  return SettingsFile{path, std::move(*node), std::move(settings.get_object())};
}

/// The first name in quotes, which is the setting that an error is about.
std::string_view named_in(std::string_view message) {
  const std::size_t begin = message.find('\'');
  const std::size_t end = begin == std::string_view::npos ? begin : message.find('\'', begin + 1);
  return end == std::string_view::npos ? std::string_view() : message.substr(begin + 1, end - begin - 1);
}

/// What the server says of settings, with the file's line. `sent` has what flags set as well.
Error place_in_file(Error error, const SettingsFile& file, const json::object& sent) {
  if (error.code != ErrorCode::bad_input) return error;
  const std::string name(named_in(error.message));
  const json::value* own = file.settings.if_contains(name);
  const json::value* given = sent.if_contains(name);
  if (given != nullptr && (own == nullptr || *own != *given)) return error;  // a flag set it
  const auto field = std::ranges::find(file.node.fields, name, &Node::Field::name);
  const std::string line = field == file.node.fields.end() ? "" : fmt::format(":{}", field->place.line);
  error.message = fmt::format("{}{}: {}", file.path, line, error.message);
  if (error.next.starts_with("send another value"))
    error.next = "use another value, or remove the setting to use its default";
  return error;
}

/// Settings that are numbers, times, or names that may be empty.
Result<void> add_numbers(const FleetFlags& flags, const Verb& verb, json::object& body) {
  const auto add = [&](const char* flag, const char* name, const json::value& value) {
    if (verb.count(flag) > 0) body[name] = value;
  };
  add("--most-cpus", "most_cpus", flags.most_cpus);
  add("--stream", "stream", json::value(flags.stream));
  add("--queue", "queue", json::value(flags.queue));
  add("--items-per-machine", "items_per_machine", flags.items_per_machine);
  add("--seconds-per-machine", "seconds_per_machine", flags.seconds_per_machine);
  add("--desired", "desired", flags.desired);
  add("--launches-per-minute", "launches_per_minute", flags.launches_per_minute);
  for (const auto& [flag, name, text] :
       {std::tuple("--idle", "idle_s", &flags.idle), std::tuple("--warm-up", "warm_up_s", &flags.warm_up),
        std::tuple("--period", "period_s", &flags.period),
        std::tuple("--join-within", "join_within_s", &flags.join_within)}) {
    if (verb.count(flag) == 0) continue;
    auto time_ms = parse_duration_ms(*text);
    if (!time_ms)
      return fail(time_ms.error().code, fmt::format("{}: {}", flag, time_ms.error().message), time_ms.error().next);
    body[name] = *time_ms / 1000;
  }
  if (flags.labels.empty()) return {};
  auto labels = labels_from_words("--label", flags.labels);
  if (!labels) return pass(labels);
  json::object out;
  for (const auto& [name, value] : *labels) out[name] = value;
  body["labels"] = std::move(out);
  return {};
}

Result<int> set_fleet(ServerClient& client, const FleetFlags& flags, const Verb& verb) {
  auto now = client.get(path_of(flags));
  const bool is_new = !now && now.error().code == ErrorCode::not_found;
  if (!now && !is_new) return pass(now);
  json::object body = is_new ? json::object() : now->as_object();
  for (const char* name : kNotSettings) body.erase(name);
  std::optional<SettingsFile> file;
  if (!flags.file.empty()) {
    auto read = settings_in(flags.file);
    if (!read) return pass(read);
    file = std::move(*read);
    body = file->settings;  // what it does not say is usual
  }
  if (!flags.provider.empty()) body["provider"] = flags.provider;
  if (!flags.command.empty()) body["provider"] = "command";
  if (!flags.provider.empty() || !flags.command.empty()) body["command"] = flags.command;
  if (!flags.policy.empty()) body["policy"] = flags.policy;
  if (verb.count("--least") > 0) body["least"] = flags.least;
  if (verb.count("--most") > 0) body["most"] = flags.most;
  if (flags.spot || flags.no_spot) body["spot"] = flags.spot;
  if (flags.on_demand || flags.no_on_demand) body["on_demand"] = flags.on_demand;
  if (verb.count("--bid") > 0) body["bid_percent"] = flags.bid;
  for (const std::string& shape : flags.shapes) {
    if (is_valid_name(shape)) continue;
    return fail(ErrorCode::bad_input, fmt::format("--shape '{}' is not a valid machine type", shape),
                "use a type such as c7g.4xlarge; repeat --shape for several");
  }
  if (!flags.shapes.empty()) body["shapes"] = json::array(flags.shapes.begin(), flags.shapes.end());
  if (auto read = add_numbers(flags, verb, body); !read) return pass(read);
  const json::value wanted = body;
  if (const auto least = number_in(wanted, "least"), most = body.contains("most") ? number_in(wanted, "most") : 1;
      least > most && (verb.count("--least") > 0 || verb.count("--most") > 0)) {
    return fail(ErrorCode::bad_input, fmt::format("--least {} is more than --most {}", least, most),
                "lower --least or raise --most");
  }
  auto answer = client.put(path_of(flags), body);
  if (!answer && file) return std::unexpected(place_in_file(std::move(answer.error()), *file, body));
  if (!answer) return pass(answer);
  return print_fleet(flags, *answer, is_new ? "new " : "");
}

Result<int> remove_fleet(ServerClient& client, const FleetFlags& flags) {
  auto answer = client.remove(path_of(flags));
  if (!answer) return pass(answer);
  const std::uint64_t machines = number_in(*answer, "machines");
  if (flag_in(*answer, "deleted"))
    return tell(flags.common, *answer, fmt::format("fleet '{}' is deleted", flags.fleet));
  const std::string when = machines == 0   ? "its provider lists none of its machines"
                           : machines == 1 ? "its machine has drained"
                                           : fmt::format("its {} machines have drained", machines);
  return tell(flags.common, *answer, fmt::format("fleet '{}' will be deleted once {}", flags.fleet, when));
}

Result<int> pause(ServerClient& client, const FleetFlags& flags, bool paused) {
  auto answer = client.post(path_of(flags) + (paused ? "/pause" : "/resume"), json::object{});
  if (!answer) return pass(answer);
  return tell(flags.common, *answer,
              paused ? fmt::format("fleet '{}' is paused: no machine is launched or drained", flags.fleet)
                     : fmt::format("fleet '{}' is active", flags.fleet));
}

Result<int> explain(ServerClient& client, const FleetFlags& flags) {
  return show_answer(client, flags, path_of(flags) + "/explain", [](const json::value& answer) {
    for (const json::value& line : list_in(answer, "lines")) {
      if (line.is_string()) print_text(stdout, fmt::format("{}\n", std::string_view(line.get_string())));
    }
  });
}

}  // namespace

void add_fleet(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<FleetFlags>();
  Verb verb = app.add_subcommand("fleet", "Define a server's fleets, and see what they do");
  verb.require_subcommand(1);
  verb.footer("Examples:\n  drover fleet list\n  drover fleet set spot --least 1\n  drover fleet explain spot");
  const auto add = [&](const char* name, const char* help, const char* example, auto ask) {
    return add_server_verb(verb, name, help, example, *flags, invocation,
                           [flags, ask](ServerClient& client) { return ask(client, *flags); });
  };
  const auto about_one = [&](Verb it) {
    it.add_option("fleet", flags->fleet, "Name of the fleet").type_name("FLEET").required();
  };
  add("list", "List fleets", "drover fleet list", list_fleets);
  about_one(add("show", "Show a fleet and its machines", "drover fleet show spot", show_fleet));
  about_one(add("explain", "Show what the planner would do about a fleet now, and why", "drover fleet explain spot",
                explain));
  Verb setting =
      add_server_verb(verb, "set", "Define a fleet, or change its settings",
                      "drover fleet set spot --command vms --most 100 --spot --shape c8", *flags, invocation,
                      [flags, verb](ServerClient& client) { return set_fleet(client, *flags, verb.part("set")); });
  about_one(setting);
  setting.add_option("--provider", flags->provider, "Provider of the machines (default: local)")
      .type_name("PROVIDER")
      .one_of({"local", "kubernetes", "slurm", "ec2", "gce", "command", "none"});
  setting
      .add_option("--command", flags->command,
                  "Name of the program that launches the machines, as given to the server with --fleet-command")
      .type_name("NAME");
  setting.add_option("--least", flags->least, "Minimum number of machines (default: 0)")
      .type_name("N")
      .range(0, kMostMachines);
  setting.add_option("--most", flags->most, "Maximum number of machines (default: 1)")
      .type_name("N")
      .range(0, kMostMachines);
  setting.add_flag("--spot", flags->spot, "Use spot machines: cheaper, but they can be reclaimed by the provider");
  setting.add_flag("--no-spot", flags->no_spot, "Use on-demand machines instead of spot machines").excludes("--spot");
  setting.add_flag("--on-demand", flags->on_demand,
                   "With --spot: launch on-demand machines for items that cannot get a spot machine (the default)");
  setting.add_flag("--no-on-demand", flags->no_on_demand, "With --spot: launch spot machines only")
      .excludes("--on-demand");
  setting
      .add_option("--bid", flags->bid,
                  "Maximum price for spot machines, as a percentage of the on-demand price (default: 100)")
      .type_name("PERCENT")
      .range(1, 1000);
  setting.add_option("--shape", flags->shapes, "Machine type; repeatable").type_name("NAME").repeatable();
  setting
      .add_option("--most-cpus", flags->most_cpus, "Maximum number of CPUs of all machines; 0: no limit (default: 0)")
      .type_name("N")
      .range(0, 100 * kMostMachines);
  setting.add_option("--label", flags->labels, "Label of the machines, which jobs can require; repeatable")
      .type_name("NAME=VALUE")
      .repeatable();
  setting.add_option("--policy", flags->policy, "Scaling policy (default: demand)")
      .type_name("POLICY")
      .one_of({"demand", "step", "backlog", "fixed"});
  setting
      .add_option("--stream", flags->stream, "With policy step or backlog: the stream whose messages count; '': none")
      .type_name("STREAM");
  setting.add_option("--queue", flags->queue, "With policy step or backlog: the queue whose items count; '': all")
      .type_name("QUEUE");
  setting.add_option("--items-per-machine", flags->items_per_machine, "With policy backlog: items per machine")
      .type_name("N")
      .range(0, 1'000'000'000);
  setting
      .add_option("--seconds-per-machine", flags->seconds_per_machine,
                  "With policy backlog: seconds of work per machine, estimated from the durations of earlier items")
      .type_name("N")
      .range(0, 2'592'000);
  setting.add_option("--desired", flags->desired, "With policy fixed: the number of machines")
      .type_name("N")
      .range(0, kMostMachines);
  setting
      .add_option("--idle", flags->idle,
                  "With policy demand: how long a machine is idle before it is drained (default: 60s)")
      .type_name("TIME");
  setting.add_option("--warm-up", flags->warm_up, "How long a machine that has joined warms up (default: 0s)")
      .type_name("TIME");
  setting
      .add_option("--period", flags->period,
                  "With policy step: how often a change is repeated while its alarm lasts (default: 60s)")
      .type_name("TIME");
  setting
      .add_option("--join-within", flags->join_within,
                  "A machine that has not joined after this time has failed (default: 10m)")
      .type_name("TIME");
  setting
      .add_option("--launches-per-minute", flags->launches_per_minute,
                  "Maximum number of launches per minute; 0: no limit (default: 0)")
      .type_name("N")
      .range(0, kMostMachines);
  setting
      .add_option("--file", flags->file,
                  "YAML or JSON file with all settings; those not in it have their defaults. Flags override it")
      .type_name("FILE");
  about_one(add("pause", "Stop launching and draining machines until 'drover fleet resume'", "drover fleet pause spot",
                [](ServerClient& client, const FleetFlags& it) { return pause(client, it, true); }));
  about_one(add("resume", "Let a paused fleet scale again", "drover fleet resume spot",
                [](ServerClient& client, const FleetFlags& it) { return pause(client, it, false); }));
  about_one(add("delete", "Drain a fleet's machines, then delete the fleet", "drover fleet delete spot", remove_fleet));
}

}  // namespace drover
