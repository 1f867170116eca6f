// drover submit: hands a job to a server.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <condition_variable>
#include <thread>

#include "base/entropy.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command_flags.h"
#include "cli/item_stream.h"
#include "cli/policy_flags.h"
#include "cli/print.h"
#include "cli/server_client.h"
#include "wire/labels.h"
#include "wire/submission.h"
#include "worker/command_template.h"

namespace drover {
namespace json = boost::json;
namespace {

struct Flags {
  CommonFlags common;
  ServerFlags server;
  CommandFlags command;
  PolicyFlags policy;
  std::string name;
  std::string token;
  std::vector<std::string> require;
};

std::string random_token() {
  return concat(random_number(), "-", random_number());
}

Result<int> submit(const Flags& flags, const Invocation& invocation) {
  auto command = take_command(flags.command, invocation);
  if (!command) return pass(command);
  auto source = choose_source(flags.command, *command);
  if (!source) return pass(source);
  // Without a token of the user's own it still has one: whatever is said twice on its way is one job.
  Submission submission{.name = flags.name, .client_token = flags.token.empty() ? random_token() : flags.token};
  auto definition = make_definition(flags.command, std::move(*command));
  if (!definition) return pass(definition);
  submission.definition = std::move(*definition);
  auto require = labels_from_words("--require", flags.require);
  if (!require) return pass(require);
  submission.require = std::move(*require);
  auto checked = CommandTemplate::parse(submission.definition);
  if (!checked) return pass(checked);
  if (auto valid = check_policy(flags.policy); !valid) return pass(valid);
  auto client = ServerClient::connect(flags.common, flags.server);
  if (!client) return pass(client);
  std::uint64_t total = 0;
  if (const auto* range = std::get_if<RangeSource>(&*source)) {
    submission.items = NumberItems{range->first, range->last};
    total = range->count();
  } else {
    ItemStream stream(*source, *checked);
    auto uploaded = client->upload("/api/v1/manifests?separator=nul", [&] { return stream.next(); });
    if (!uploaded) return pass(uploaded);
    submission.items = ManifestId{uploaded->at("manifest").to_number<std::uint64_t>()};
    total = uploaded->at("items").to_number<std::uint64_t>();
  }
  auto policy = make_policy(flags.policy, total);
  if (!policy) return pass(policy);
  submission.policy = *policy;
  auto job = client->post("/api/v1/jobs", json::parse(submission_to_json(submission)), Repeat::allowed);
  if (!job) return pass(job);
  if (flags.common.json) {
    show("{}\n", json::serialize(*job));
  } else if (!flags.common.quiet) {
    show("job {} '{}': {}\n", std::string_view(job->at("id").as_string()),
         std::string_view(job->at("name").as_string()), plural(total, "item"));
  }
  return kAllSucceeded;
}

}  // namespace

void add_submit(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = app.add_subcommand("submit", "Hand a job to a server: a command for every item of a list");
  add_common_flags(*verb, flags->common);
  add_server_flag(*verb, flags->server);
  add_command_flags(*verb, flags->command);
  add_policy_flags(*verb, flags->policy);
  verb->add_option("--name", flags->name, "Name of the job (default: that of the program)")->type_name("NAME");
  verb->add_option("--client-token", flags->token, "The same token again is the same job, not another")
      ->type_name("TEXT");
  verb->add_option("--require", flags->require, "Only workers with this label run it; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
  verb->footer(std::string(kCommandHelp) +
               "Examples:\n"
               "  drover submit --items photos.txt -- convert {} -resize 50% small/{/}\n"
               "  drover submit --name sweep --range 1-1000000 --retries 2 -- ./simulate --seed {}\n"
               "  drover submit --cpus 0.5 --memory 2GiB --require gpu=none --items list.txt -- ./process {}");
  verb->callback([flags, verb, &invocation] {
    flags->command.words = verb->remaining();
    auto done = submit(*flags, invocation);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
