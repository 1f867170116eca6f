// drover fleet: which machines a server could have. Only written down by now: nothing starts or ends one yet.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "base/name.h"
#include "cli/answer.h"
#include "cli/print.h"
#include "cli/server_verb.h"
#include "cli/table.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr const char* kOnlyKept = "fleets are only written down so far; no machine is started for one";
constexpr int kMostMachines = 1'000'000;

struct Flags : AskingFlags {
  std::string fleet;
  std::string provider;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  bool spot = false;
  bool no_spot = false;
  std::uint64_t bid = 0;
  std::vector<std::string> shapes;
  std::string policy;
};

std::string path_of(const Flags& flags) {
  return "/api/v1/fleets/" + url_escape(flags.fleet);
}

void print_list(const json::value& answer) {
  using enum Column::Align;
  Table table({{.title = "NAME", .cut = true},
               {.title = "PROVIDER"},
               {.title = "LEAST", .align = right},
               {.title = "MOST", .align = right},
               {.title = "SPOT"},
               {.title = "POLICY"},
               {.title = "SHAPES", .cut = true}});
  for (const json::value& it : list_in(answer, "fleets")) {
    table.add({text_in(it, "name"), text_in(it, "provider"), std::to_string(number_in(it, "least")),
               std::to_string(number_in(it, "most")), flag_in(it, "spot") ? "yes" : "no", text_in(it, "policy"),
               words_text(list_in(it, "shapes"))});
  }
  table.print();
}

Result<int> list(ServerClient& client, const Flags& flags) {
  return show_answer(client, flags, "/api/v1/fleets", [&](const json::value& answer) {
    print_list(answer);
    if (!flags.common.quiet) print_notice(kOnlyKept);
  });
}

int show_fleet(const Flags& flags, const json::value& fleet, std::string_view head) {
  std::string text = fmt::format(
      "{}fleet '{}'\n  {:<10} {}\n  {:<10} {} to {}, by {}\n  {:<10} {}", head, text_in(fleet, "name"), "provider",
      text_in(fleet, "provider"), "machines", number_in(fleet, "least"), number_in(fleet, "most"),
      text_in(fleet, "policy"), "spot",
      flag_in(fleet, "spot") ? fmt::format("yes, for {} % of the full price at most", number_in(fleet, "bid_percent"))
                             : "no");
  if (const std::string shapes = words_text(list_in(fleet, "shapes")); !shapes.empty())
    text += fmt::format("\n  {:<10} {}", "shapes", shapes);
  const int status = tell(flags.common, fleet, text);
  if (!flags.common.quiet && !flags.common.json) print_notice(kOnlyKept);
  return status;
}

Result<int> show_one(ServerClient& client, const Flags& flags) {
  auto answer = client.get(path_of(flags));
  if (!answer) return pass(answer);
  return show_fleet(flags, *answer, "");
}

Result<int> set(ServerClient& client, const Flags& flags, const CLI::App& verb) {
  auto now = client.get(path_of(flags));
  const bool is_new = !now && now.error().code == ErrorCode::not_found;
  if (!now && !is_new) return pass(now);
  json::object body = is_new ? json::object() : now->as_object();
  for (const char* name : {"name", "created_ms"}) body.erase(name);
  if (!flags.provider.empty()) body["provider"] = flags.provider;
  if (!flags.policy.empty()) body["policy"] = flags.policy;
  if (verb.count("--least") > 0) body["least"] = flags.least;
  if (verb.count("--most") > 0) body["most"] = flags.most;
  if (flags.spot || flags.no_spot) body["spot"] = flags.spot;
  if (verb.count("--bid") > 0) body["bid_percent"] = flags.bid;
  for (const std::string& shape : flags.shapes) {
    if (is_valid_name(shape)) continue;
    return fail(ErrorCode::bad_input, fmt::format("--shape '{}' cannot be a type of machine", shape),
                "write one such as c7g.4xlarge; for several say --shape again");
  }
  if (!flags.shapes.empty()) body["shapes"] = json::array(flags.shapes.begin(), flags.shapes.end());
  const json::value wanted = body;
  if (const auto least = number_in(wanted, "least"), most = body.contains("most") ? number_in(wanted, "most") : 1;
      least > most) {
    return fail(ErrorCode::bad_input, fmt::format("--least {} is more than --most {}", least, most),
                "say less of the one, or more of the other");
  }
  auto answer = client.put(path_of(flags), body);
  if (!answer) return pass(answer);
  return show_fleet(flags, *answer, is_new ? "new " : "");
}

Result<int> remove(ServerClient& client, const Flags& flags) {
  auto answer = client.remove(path_of(flags));
  if (!answer) return pass(answer);
  return tell(flags.common, *answer, fmt::format("fleet '{}' is deleted", flags.fleet));
}

}  // namespace

void add_fleet(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = app.add_subcommand("fleet", "List, write down and delete a server's fleets");
  verb->require_subcommand(1);
  verb->footer(fmt::format(
      "{}.\n\nExamples:\n  drover fleet list\n  drover fleet set spot --provider ec2 --most 100 --spot", kOnlyKept));
  const auto add = [&](const char* name, const char* help, const char* example, auto ask) {
    return add_server_verb(*verb, name, help, example, *flags, invocation,
                           [flags, ask](ServerClient& client) { return ask(client, *flags); });
  };
  const auto about_one = [&](CLI::App* it) {
    it->add_option("fleet", flags->fleet, "Its name")->type_name("FLEET")->required();
  };
  add("list", "List fleets", "drover fleet list", list);
  about_one(add("show", "Show a fleet", "drover fleet show spot", show_one));
  CLI::App* setting = add_server_verb(
      *verb, "set", "Write a fleet down, or change what is said of it",
      "drover fleet set spot --provider ec2 --most 100 --spot --shape c7g.4xlarge", *flags, invocation,
      [flags, verb](ServerClient& client) { return set(client, *flags, *verb->get_subcommand("set")); });
  about_one(setting);
  setting->add_option("--provider", flags->provider, "What gives its machines (default: local)")
      ->type_name("PROVIDER")
      ->check(CLI::IsMember({"local", "kubernetes", "slurm", "ec2", "gce", "command"}));
  setting->add_option("--least", flags->least, "Machines that are always there (default: 0)")
      ->type_name("N")
      ->check(CLI::Range(0, kMostMachines));
  setting->add_option("--most", flags->most, "Machines that there may be (default: 1)")
      ->type_name("N")
      ->check(CLI::Range(0, kMostMachines));
  CLI::Option* spot = setting->add_flag("--spot", flags->spot, "Machines that may be taken away, for less money");
  setting->add_flag("--no-spot", flags->no_spot, "Machines that are not taken away")->excludes(spot);
  setting->add_option("--bid", flags->bid, "Spot machines for this much of the full price, at most (default: 100)")
      ->type_name("PERCENT")
      ->check(CLI::Range(1, 1000));
  setting->add_option("--shape", flags->shapes, "A type of machine; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  setting->add_option("--policy", flags->policy, "What says how many there are (default: demand)")
      ->type_name("POLICY")
      ->check(CLI::IsMember({"demand", "step", "backlog", "deadline", "budget"}));
  about_one(add("delete", "Delete a fleet", "drover fleet delete spot", remove));
}

}  // namespace drover
