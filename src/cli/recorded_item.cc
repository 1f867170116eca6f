#include "cli/recorded_item.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cmath>
#include <filesystem>

#include "cli/answer.h"
#include "cli/opened_run.h"
#include "cli/server_job.h"
#include "store/manifest.h"
#include "wire/base64.h"
#include "worker/job_run.h"

namespace drover {
namespace json = boost::json;
namespace {

std::unexpected<Error> no_item_named() {
  return fail(ErrorCode::bad_input, "an item is required", "write JOB:INDEX, such as render:17; indexes start at 0");
}

std::unexpected<Error> no_such_attempt(const ItemFlags& flags) {
  return fail(ErrorCode::not_found, fmt::format("{} has no attempt {} that has ended", flags.reference, flags.attempt),
              fmt::format("list its attempts: drover items {}", flags.reference));
}

Result<RecordedItem> find_here(const ItemFlags& flags) {
  auto run = open_run(flags.common, flags.reference);
  if (!run) return pass(run);
  if (!run->reference.has_item) return no_item_named();
  const Job& job = run->job;
  RecordedItem item{.job = run->folder.name(), .uuid = job.uuid.text(), .index = ItemIndex{run->reference.item}};
  if (item.index.value >= job.total) {
    return fail(ErrorCode::not_found, fmt::format("run '{}' has no item {}", item.job, item.index.value),
                fmt::format("valid indexes are 0 to {}", job.total == 0 ? 0 : job.total - 1));
  }
  auto definition = run->reader->definition(job.definition);
  if (!definition) return pass(definition);
  auto read = definition_from_json(*definition);
  if (!read) return pass(read);
  item.definition = std::move(*read);
  auto manifest = ManifestReader::open(*run->reader, job.manifest);
  if (!manifest) return pass(manifest);
  auto text = manifest->item(item.index);
  if (!text) return pass(text);
  item.text = std::move(*text);
  item.timeout_ms = job.policy.timeout_ms;
  item.grace_ms = job.policy.grace_ms;
  item.is_running = run->running().contains(item.index.value);
  auto listed = run->reader->each_attempt(job.id, item.index, [&](const Attempt& it) {
    if (it.item != item.index) return false;
    if (flags.attempt == 0 || it.attempt.value == flags.attempt) {
      item.attempt = {it.attempt.value, failure_kind(it.ending, it.exit_code.value_or(0), it.signal.value_or(0)), ""};
    }
    return true;
  });
  if (!listed) return pass(listed);
  if (flags.attempt != 0 && !item.attempt) return no_such_attempt(flags);
  return item;
}

bool has_number(const json::value& object, const char* name) {
  const json::value* value = object.as_object().if_contains(name);
  return value != nullptr && value->is_number();
}

/// In the words of failure_kind().
std::string ending_words(const json::value& attempt) {
  std::string ending = text_in(attempt, "ending");
  if (ending == "exited") return fmt::format("exit code {}", number_in(attempt, "exit_code"));
  if (ending == "signalled" && has_number(attempt, "signal")) {
    return failure_kind(Ending::signalled, 0, static_cast<std::int32_t>(number_in(attempt, "signal")));
  }
  for (const Ending it :
       {Ending::timed_out, Ending::not_started, Ending::stopped, Ending::lost, Ending::out_of_memory}) {
    if (ending == to_string(it)) return failure_kind(it, 0, 0);
  }
  return ending;
}

Resources asks_in(const json::value& job) {
  const json::object& asks = object_in(job, "asks");
  const json::value* cpus = asks.if_contains("cpus");
  return {
      .milli_cpus = cpus == nullptr ? 0 : static_cast<std::uint64_t>(std::llround(cpus->to_number<double>() * 1000)),
      .memory_bytes = number_in(asks, "memory_bytes")};
}

// What a worker sets. The file with the server's authority is where this machine has it.
std::map<std::string, std::string> settings_of(const ServerAccess& access) {
  std::map<std::string, std::string> settings{{"DROVER_SERVER", access.address}};
  if (access.address.starts_with("https://") && !access.ca_file.empty()) {
    std::error_code ignored;
    settings["DROVER_CA"] = std::filesystem::absolute(access.ca_file, ignored).string();
  }
  return settings;
}

Result<RecordedItem> find_at_server(const ItemFlags& flags) {
  auto access = find_server(flags.common, flags.server);
  if (!access) return pass(access);
  auto client = ServerClient::connect(flags.common, flags.server);
  if (!client) return pass(client);
  auto which = job_and_item(*client, flags.reference);
  if (!which) return pass(which);
  if (which->item.empty()) return no_item_named();
  auto job = client->get(job_path(which->job));
  if (!job) return pass(job);
  RecordedItem item{.job = text_in(*job, "name"), .uuid = text_in(*job, "id")};
  auto one = client->get(job_path(item.uuid, "/items/" + which->item));
  if (!one) return pass(one);
  auto definition = definition_from_json(json::serialize(object_in(*job, "definition")));
  if (!definition) return pass(definition);
  item.index = ItemIndex{number_in(*one, "index")};
  item.definition = std::move(*definition);
  item.definition.limits = held_to(item.definition.limits, asks_in(*job));
  item.text = one->as_object().contains("item_b64") ? from_base64(text_in(*one, "item_b64")).value_or("")
                                                    : text_in(*one, "item");
  item.timeout_ms = static_cast<std::int64_t>(number_in(*job, "timeout_ms"));
  item.grace_ms = static_cast<std::int64_t>(number_in(*job, "grace_ms"));
  item.is_running = text_in(*one, "state") == "running";
  item.settings = settings_of(*access);
  for (const json::value& it : list_in(*one, "history")) {
    const auto number = static_cast<std::uint32_t>(number_in(it, "attempt"));
    if (flags.attempt != 0 && number != flags.attempt) continue;
    item.attempt = {number, ending_words(it), text_in(it, "worker")};
  }
  if (flags.attempt != 0 && !item.attempt) return no_such_attempt(flags);
  return item;
}

}  // namespace

void add_item_flags(const Verb& verb, ItemFlags& flags) {
  add_common_flags(verb, flags.common);
  add_place_flags(verb, flags.server);
  verb.add_option("item", flags.reference, "Item: RUN:INDEX, or JOB:INDEX on a server").type_name("RUN").required();
  verb.add_option("--attempt", flags.attempt, "Number of the attempt to reproduce (default: the last one that ended)")
      .type_name("N")
      .positive();
}

Result<RecordedItem> find_item(const ItemFlags& flags) {
  auto site = site_of(flags.common, flags.server, flags.reference);
  if (!site) return pass(site);
  return *site == Site::server ? find_at_server(flags) : find_here(flags);
}

}  // namespace drover
