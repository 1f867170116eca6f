#include "cli/job_flags.h"

#include <fmt/format.h>

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

void add_job_flags(const Verb& verb, JobFlags& flags) {
  verb.add_option("--name", flags.name, "Name of the job (default: name of its program or image)").type_name("NAME");
  verb.add_option("--client-token", flags.client_token,
                  "Idempotency token; a second submission with the same token returns the same job")
      .type_name("TEXT");
  verb.add_option("--definition", flags.definition, "Base the job on this definition: NAME or NAME:REVISION")
      .type_name("DEFINITION");
  verb.add_option("--queue", flags.queue, "Queue that the job waits in (default: default)").type_name("QUEUE");
  verb.add_option("--priority", flags.priority,
                  "Priority from 0 to 9999; within a share, higher priorities run first (default: 0)")
      .type_name("N");
  verb.add_option("--share", flags.share, "Share that the job's usage counts against").type_name("NAME");
  const auto repeated = [&](const char* name, std::vector<std::string>& into, const char* help, const char* type) {
    verb.add_option(name, into, help).type_name(type).repeatable();
  };
  repeated("--after", flags.after, "Start when this job has succeeded; repeatable", "JOB");
  repeated("--after-each", flags.after_each,
           "Start each item when the item with the same index in this job has succeeded; repeatable", "JOB");
  verb.add_flag("--sequential", flags.sequential, "Run items one at a time, in order; a failed item stops the job");
  verb.add_option("--max-running", flags.max_running, "Maximum number of items to run at once").type_name("N");
  verb.add_flag("--strict-lease", flags.strict_lease,
                "A worker that cannot reach the server kills the job's items before their lease expires");
  verb.add_option("--job-timeout", flags.job_timeout,
                  "Time limit for the whole job; a job that takes longer is stopped")
      .type_name("TIME");
  verb.add_option("--gpus", flags.gpus, "GPUs per item; short for --accelerator nvidia=N").type_name("N");
  repeated("--accelerator", flags.accelerators, "Accelerators per item: nvidia, amd or neuron; repeatable", "KIND=N");
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
  typed.flag("strict_lease", flags.strict_lease);
  typed.number("max_running", flags.max_running);
  typed.text("job_timeout", flags.job_timeout);
  typed.number("gpus", flags.gpus);
  if (!flags.accelerators.empty()) {
    Node kinds{.kind = Node::Kind::object};
    for (const std::string& word : flags.accelerators) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) {
        return fail(ErrorCode::bad_input, fmt::format("--accelerator '{}' is not KIND=N", word),
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
  if (over.said.contains("strict_lease")) job.definition.strict_lease = over.definition.strict_lease;
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
