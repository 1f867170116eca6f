#include "cli/job_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/units.h"
#include "cli/typed_fields.h"

namespace drover {
namespace {

// "accelerators.nvidia" is what --accelerator said.
std::string flag_of(const std::string& path, const JobFlags& flags) {
  std::string name = field_name(path);
  if (name == "accelerators") return "--accelerator";
  if (name == "after") {
    const auto index = parse_number(path.substr(6, path.find(']') - 6));
    return index && *index >= flags.after.size() ? "--after-each" : "--after";
  }
  return flag_name(std::move(name));
}

}  // namespace

void add_job_flags(CLI::App& verb, JobFlags& flags) {
  verb.add_option("--name", flags.name, "Name of the job (default: that of the program)")->type_name("NAME");
  verb.add_option("--client-token", flags.client_token, "The same token again is the same job, not another")
      ->type_name("TEXT");
  verb.add_option("--definition", flags.definition, "Begin with what this definition says: NAME or NAME:REVISION")
      ->type_name("DEFINITION");
  verb.add_option("--queue", flags.queue, "The queue it waits in (default: default)")->type_name("QUEUE");
  verb.add_option("--priority", flags.priority,
                  "From 0 to 9999: of two jobs of one share the higher comes first (default: 0)")
      ->type_name("N");
  verb.add_option("--share", flags.share, "The share that it is counted to")->type_name("NAME");
  const auto repeated = [&](const char* name, std::vector<std::string>& into, const char* help, const char* type) {
    verb.add_option(name, into, help)->type_name(type)->expected(1)->take_all();
  };
  repeated("--after", flags.after, "Start when this job has succeeded; may be repeated", "JOB");
  repeated("--after-each", flags.after_each,
           "Start each item when the item of the same index of this job has succeeded; may be repeated", "JOB");
  verb.add_flag("--sequential", flags.sequential, "One item after another, in order; one that fails stops the job");
  verb.add_option("--max-running", flags.max_running, "So many items at a time, at most")->type_name("N");
  verb.add_option("--job-timeout", flags.job_timeout, "Stop a job that takes longer")->type_name("TIME");
  verb.add_option("--gpus", flags.gpus, "GPUs of an item; short for --accelerator nvidia=N")->type_name("N");
  repeated("--accelerator", flags.accelerators, "Accelerators of an item: nvidia, amd or neuron; may be repeated",
           "KIND=N");
}

Result<void> apply_job_flags(const JobFlags& flags, Submission& job) {
  TypedFields typed;
  typed.text("name", flags.name);
  typed.text("client_token", flags.client_token);
  typed.text("definition", flags.definition);
  typed.text("queue", flags.queue);
  typed.number("priority", flags.priority);
  typed.text("share", flags.share);
  if (!flags.after.empty() || !flags.after_each.empty()) {
    Node after{.kind = Node::Kind::list};
    for (const std::string& name : flags.after) after.items.push_back(TypedFields::text_node(name));
    for (const std::string& name : flags.after_each) {
      Node each{.kind = Node::Kind::object};
      each.fields.push_back({"job", {}, TypedFields::text_node(name)});
      each.fields.push_back({"each", {}, TypedFields::flag_node(true)});
      after.items.push_back(std::move(each));
    }
    typed.put("after", std::move(after));
  }
  typed.flag("sequential", flags.sequential);
  typed.number("max_running", flags.max_running);
  typed.text("job_timeout", flags.job_timeout);
  typed.number("gpus", flags.gpus);
  if (!flags.accelerators.empty()) {
    Node kinds{.kind = Node::Kind::object};
    for (const std::string& word : flags.accelerators) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) {
        return fail(ErrorCode::bad_input, fmt::format("--accelerator '{}' does not say how many", word),
                    "write --accelerator nvidia=1");
      }
      kinds.fields.push_back({word.substr(0, equals), {}, TypedFields::number_node(word.substr(equals + 1))});
    }
    typed.put("accelerators", std::move(kinds));
  }

  JobReader reader(typed.root(), Face::file);
  Submission over;
  for (const char* name : {"items_file", "dir", "match", "jsonl", "map"}) reader.find(name);  // flags of another kind
  read_job(reader, {.command = false, .items = false}, over);
  const std::vector<JobProblem> problems = reader.done();
  if (!problems.empty())
    return std::unexpected(flag_error(problems.front(), flag_of(problems.front().field, flags), "submit"));

  const auto take = [&](const char* name, auto Submission::* field) {
    if (over.said.contains(name)) job.*field = over.*field;
  };
  take("name", &Submission::name);
  take("client_token", &Submission::client_token);
  take("definition", &Submission::base_definition);
  take("queue", &Submission::queue);
  take("priority", &Submission::priority);
  take("share", &Submission::share);
  take("after", &Submission::after);
  take("sequential", &Submission::sequential);
  take("max_running", &Submission::max_running);
  take("job_timeout", &Submission::job_timeout_ms);
  for (std::size_t i = 0; i < job.accelerators.size(); ++i) {
    const Node* kinds = typed.root().find("accelerators");
    const bool named = kinds != nullptr && kinds->find(kAcceleratorKinds[i]) != nullptr;
    if (named || (i == 0 && over.said.contains("gpus"))) job.accelerators[i] = over.accelerators[i];
  }
  job.said.insert(over.said.begin(), over.said.end());
  return {};
}

}  // namespace drover
