#include "cli/job_flags.h"

namespace drover {
namespace {

/// Jobs to wait for are one field, and two flags.
Result<void> apply_after(const JobFlags& flags, Submission& job) {
  if (flags.after.empty() && flags.after_each.empty()) return {};
  Node list{.kind = Node::Kind::list};
  const auto add = [&](const std::string& name, bool each) {
    Node one{.kind = Node::Kind::object};
    one.fields.push_back({"job", {}, {.kind = Node::Kind::text, .quoted = true, .text = name}});
    one.fields.push_back({"each", {}, {.kind = Node::Kind::boolean, .text = each ? "true" : "false"}});
    list.items.push_back(std::move(one));
  };
  for (const std::string& name : flags.after) add(name, false);
  for (const std::string& name : flags.after_each) add(name, true);
  Node root{.kind = Node::Kind::object};
  root.fields.push_back({"after", {}, std::move(list)});
  JobReader reader(root, Face::file);
  reader.after("after", job.after_jobs);
  if (reader.problems().empty()) {
    job.said.insert("after");
    return {};
  }
  const JobProblem& problem = reader.problems().front();
  const bool is_of_first = flags.after_each.empty() || job.after_jobs.size() < flags.after.size();
  return std::unexpected(flag_error(problem, is_of_first ? "--after" : "--after-each", "prepare"));
}

}  // namespace

void add_job_flags(const Verb& verb, JobFlags& flags) {
  flags.fields.add(verb, FlagGroup::job);
  verb.add_option("--after", flags.after, "Start when this job has succeeded; repeatable")
      .type_name("JOB")
      .repeatable();
  verb.add_option("--after-each", flags.after_each,
                  "Start each item when the item with the same index in this job has succeeded; repeatable")
      .type_name("JOB")
      .repeatable();
}

Result<void> apply_job_flags(const JobFlags& flags, Submission& job) {
  if (auto applied = flags.fields.apply(job); !applied) return applied;
  return apply_after(flags, job);
}

}  // namespace drover
