// drover fleet: which machines a server could have. Only written down by now: nothing starts or ends one yet.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/name.h"
#include "cli/answer.h"
#include "cli/print.h"
#include "cli/server_verb.h"
#include "cli/table.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr const char* kOnlyKept = "fleets are only recorded so far; no machines are started for them";
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
  std::string text = fmt::format("{}fleet '{}'\n  {:<10} {}\n  {:<10} {} to {}, policy {}\n  {:<10} {}", head,
                                 text_in(fleet, "name"), "provider", text_in(fleet, "provider"), "machines",
                                 number_in(fleet, "least"), number_in(fleet, "most"), text_in(fleet, "policy"), "spot",
                                 flag_in(fleet, "spot") ? fmt::format("yes, for at most {}% of the on-demand price",
                                                                      number_in(fleet, "bid_percent"))
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

Result<int> set(ServerClient& client, const Flags& flags, const Verb& verb) {
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
    return fail(ErrorCode::bad_input, fmt::format("--shape '{}' is not a valid machine type", shape),
                "use a type such as c7g.4xlarge; repeat --shape for several");
  }
  if (!flags.shapes.empty()) body["shapes"] = json::array(flags.shapes.begin(), flags.shapes.end());
  const json::value wanted = body;
  if (const auto least = number_in(wanted, "least"), most = body.contains("most") ? number_in(wanted, "most") : 1;
      least > most) {
    return fail(ErrorCode::bad_input, fmt::format("--least {} is more than --most {}", least, most),
                "lower --least or raise --most");
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

void add_fleet(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<Flags>();
  Verb verb = app.add_subcommand("fleet", "List, define and delete a server's fleets");
  verb.require_subcommand(1);
  verb.footer(fmt::format(
      "{}.\n\nExamples:\n  drover fleet list\n  drover fleet set spot --provider ec2 --most 100 --spot", kOnlyKept));
  const auto add = [&](const char* name, const char* help, const char* example, auto ask) {
    return add_server_verb(verb, name, help, example, *flags, invocation,
                           [flags, ask](ServerClient& client) { return ask(client, *flags); });
  };
  const auto about_one = [&](Verb it) {
    it.add_option("fleet", flags->fleet, "Name of the fleet").type_name("FLEET").required();
  };
  add("list", "List fleets", "drover fleet list", list);
  about_one(add("show", "Show a fleet", "drover fleet show spot", show_one));
  Verb setting =
      add_server_verb(verb, "set", "Define a fleet, or change its settings",
                      "drover fleet set spot --provider ec2 --most 100 --spot --shape c7g.4xlarge", *flags, invocation,
                      [flags, verb](ServerClient& client) { return set(client, *flags, verb.part("set")); });
  about_one(setting);
  setting.add_option("--provider", flags->provider, "Provider of the machines (default: local)")
      .type_name("PROVIDER")
      .one_of({"local", "kubernetes", "slurm", "ec2", "gce", "command"});
  setting.add_option("--least", flags->least, "Minimum number of machines (default: 0)")
      .type_name("N")
      .range(0, kMostMachines);
  setting.add_option("--most", flags->most, "Maximum number of machines (default: 1)")
      .type_name("N")
      .range(0, kMostMachines);
  setting.add_flag("--spot", flags->spot, "Use spot machines: cheaper, but they can be reclaimed by the provider");
  setting.add_flag("--no-spot", flags->no_spot, "Use on-demand machines instead of spot machines").excludes("--spot");
  setting
      .add_option("--bid", flags->bid,
                  "Maximum price for spot machines, as a percentage of the on-demand price (default: 100)")
      .type_name("PERCENT")
      .range(1, 1000);
  setting.add_option("--shape", flags->shapes, "Machine type; repeatable").type_name("NAME").repeatable();
  setting.add_option("--policy", flags->policy, "Scaling policy (default: demand)")
      .type_name("POLICY")
      .one_of({"demand", "step", "backlog", "deadline", "budget"});
  about_one(add("delete", "Delete a fleet", "drover fleet delete spot", remove));
}

}  // namespace drover
