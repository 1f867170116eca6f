// drover jobs, drover workers: what a server has, and how to send a worker away.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "base/units.h"
#include "cli/print.h"
#include "cli/server_client.h"

namespace drover {
namespace json = boost::json;
namespace {

struct Flags {
  CommonFlags common;
  ServerFlags server;
  std::string state;
  std::uint64_t limit = 20;
  std::string worker;
};

std::string_view text(const json::value& object, const char* name) {
  return object.at(name).as_string();
}

// A worker need not say how much it has.
std::string cpus_text(const json::value& cpus) {
  return cpus.is_null() ? "-" : fmt::format("{:g}", cpus.to_number<double>());
}

std::string memory_text(const json::value& bytes) {
  return bytes.is_null() ? "-" : format_size(bytes.to_number<std::uint64_t>());
}

Result<int> jobs(const Flags& flags) {
  auto client = ServerClient::connect(flags.common, flags.server);
  if (!client) return pass(client);
  std::string path = fmt::format("/api/v1/jobs?limit={}", flags.limit);
  if (!flags.state.empty()) path += "&state=" + url_escape(flags.state);
  auto answer = client->get(path);
  if (!answer) return pass(answer);
  if (flags.common.json) {
    show("{}\n", json::serialize(*answer));
    return kAllSucceeded;
  }
  show("{:<10} {:<24} {:<10} {:>12} {:>12} {:>10}\n", "ID", "NAME", "STATE", "ITEMS", "SUCCEEDED", "FAILED");
  for (const json::value& job : answer->at("jobs").as_array()) {
    const json::value& counts = job.at("counts");
    show("{:<10} {:<24} {:<10} {:>12} {:>12} {:>10}\n", text(job, "id").substr(0, 8), text(job, "name"),
         text(job, "state"), format_count(job.at("total").to_number<std::uint64_t>()),
         format_count(counts.at("succeeded").to_number<std::uint64_t>()),
         format_count(counts.at("failed").to_number<std::uint64_t>()));
  }
  return kAllSucceeded;
}

Result<int> workers(const Flags& flags) {
  auto client = ServerClient::connect(flags.common, flags.server);
  if (!client) return pass(client);
  auto answer = client->get("/api/v1/workers");
  if (!answer) return pass(answer);
  if (flags.common.json) {
    show("{}\n", json::serialize(*answer));
    return kAllSucceeded;
  }
  show("{:<24} {:>6} {:>12}  {:<10}  {}\n", "NAME", "CPUS", "MEMORY", "VERSION", "LABELS");
  for (const json::value& worker : answer->at("workers").as_array()) {
    std::string labels;
    for (const auto& [name, value] : worker.at("labels").as_object()) {
      labels += fmt::format("{}{}={}", labels.empty() ? "" : ",", std::string_view(name),
                            std::string_view(value.as_string()));
    }
    show("{:<24} {:>6} {:>12}  {:<10}  {}\n", text(worker, "name"), cpus_text(worker.at("cpus")),
         memory_text(worker.at("memory_bytes")), text(worker, "version"), labels);
  }
  return kAllSucceeded;
}

Result<int> send_away(const Flags& flags, std::string_view how) {
  auto client = ServerClient::connect(flags.common, flags.server);
  if (!client) return pass(client);
  auto answer = client->post(fmt::format("/api/v1/workers/{}/{}", url_escape(flags.worker), how), json::object{});
  if (!answer) return pass(answer);
  if (flags.common.json) {
    show("{}\n", json::serialize(*answer));
  } else if (how == "drain") {
    show("worker '{}' takes no more, and goes when what it runs has ended\n", flags.worker);
  } else {
    show("worker '{}' has lost what it held: others get it\n", flags.worker);
  }
  return kAllSucceeded;
}

}  // namespace

void add_jobs(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = app.add_subcommand("jobs", "List a server's jobs, the newest first");
  add_common_flags(*verb, flags->common);
  add_server_flag(*verb, flags->server);
  verb->add_option("--state", flags->state, "Only jobs in this state")
      ->type_name("STATE")
      ->check(CLI::IsMember({"pending", "running", "succeeded", "failed", "cancelled"}));
  verb->add_option("--limit", flags->limit, "At most so many (default: 20)")->type_name("N");
  verb->footer("Example:\n  drover jobs --state running");
  verb->callback([flags, &invocation] {
    auto done = jobs(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

void add_workers(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = app.add_subcommand("workers", "List a server's workers");
  add_common_flags(*verb, flags->common);
  add_server_flag(*verb, flags->server);
  verb->require_subcommand(0, 1);
  const auto add = [&](const char* name, const char* help, const char* example) {
    CLI::App* one = verb->add_subcommand(name, help);
    add_common_flags(*one, flags->common);
    add_server_flag(*one, flags->server);
    one->add_option("worker", flags->worker, "Its name")->type_name("WORKER")->required();
    one->footer(example);
    one->callback([flags, &invocation, name] {
      auto done = send_away(*flags, name);
      invocation.exit_status = done ? *done : failure(done.error());
    });
  };
  add("drain", "Let a worker take no more, and go when what it runs has ended",
      "Example:\n  drover workers drain gpu-7");
  add("fence", "Give what a worker holds to others at once: it is believed dead",
      "Example:\n  drover workers fence gpu-7");
  verb->footer("Examples:\n  drover workers\n  drover workers drain gpu-7");
  verb->callback([flags, verb, &invocation] {
    if (!verb->get_subcommands().empty()) return;
    auto done = workers(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
