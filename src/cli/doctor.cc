// drover doctor: what is wrong with this machine, or with the way to a server, in words.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <future>
#include <iterator>

#include "base/units.h"
#include "cli/doctor_check.h"
#include "cli/print.h"
#include "screen/plain_text.h"
#include "store/run_folder.h"

namespace drover {

std::string_view to_string(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::ok: return "ok";
    case CheckVerdict::warning: return "warning";
    case CheckVerdict::problem: return "problem";
  }
  return "";
}

namespace {

struct DoctorFlags {
  CommonFlags common;
  ServerFlags server;
};

struct Group {
  std::string_view name;
  std::string_view title;
  std::vector<Check> checks;
};

void print_group(const Group& group, bool only_trouble) {
  bool titled = false;
  for (const Check& it : group.checks) {
    if (only_trouble && it.verdict == CheckVerdict::ok) continue;
    if (!titled) show("{}\n", group.title);
    titled = true;
    // Some of it comes from a server.
    show("  {:<8} {:<12} {}\n", to_string(it.verdict), it.about, plain_text(it.text));
    if (!it.next.empty()) show("  {:<8} {:<12} next: {}\n", "", "", plain_text(it.next));
  }
}

boost::json::object to_json(const Group& group, const Check& check) {
  return {{"group", group.name},
          {"about", check.about},
          {"verdict", to_string(check.verdict)},
          {"text", check.text},
          {"next", check.next.empty() ? boost::json::value(nullptr) : boost::json::value(check.next)}};
}

int examine(const DoctorFlags& flags) {
  const std::string root = data_root(flags.common.data);
  // Side by side: a server that does not answer, a slow disk.
  auto server = std::async(std::launch::async, [&] { return check_server(flags.common, flags.server); });
  auto folder = std::async(std::launch::async, [&] { return check_folder(root); });
  std::vector<Check> machine = check_machine();
  std::ranges::move(check_containers(root), std::back_inserter(machine));
  Group groups[] = {{"machine", "this machine", std::move(machine)},
                    {"folder", "the data folder", folder.get()},
                    {"server", "the server", server.get()}};
  std::uint64_t warnings = 0;
  std::uint64_t problems = 0;
  boost::json::array listed;
  for (const Group& group : groups) {
    if (!flags.common.json) print_group(group, flags.common.quiet);
    for (const Check& it : group.checks) {
      warnings += it.verdict == CheckVerdict::warning ? 1 : 0;
      problems += it.verdict == CheckVerdict::problem ? 1 : 0;
      listed.push_back(to_json(group, it));
    }
  }
  if (flags.common.json) {
    show("{}\n", boost::json::serialize(boost::json::object{
                     {"problems", problems}, {"warnings", warnings}, {"checks", std::move(listed)}}));
  } else if (!flags.common.quiet) {
    show("{}, {}\n", plural(problems, "problem"), plural(warnings, "warning"));
  }
  return problems == 0 ? kAllSucceeded : kSomeDidNot;
}

}  // namespace

void add_doctor(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<DoctorFlags>();
  Verb verb =
      app.add_subcommand("doctor", "Check this machine, its data folder and the connection to a server for problems");
  add_common_flags(verb, flags->common);
  add_server_flag(verb, flags->server);
  verb.footer(
      "Examples:\n  drover doctor\n  drover doctor --server https://head.example.org:8750\n"
      "Exit status: 0 if there are no problems (there may be warnings), 1 if there are.");
  verb.callback([flags, &invocation] { invocation.exit_status = examine(*flags); });
}

}  // namespace drover
