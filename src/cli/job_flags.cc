#include "cli/job_flags.h"

#include <algorithm>

#include "base/units.h"

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
  // "after[2].job"; of too many it is the whole list.
  const std::size_t bracket = problem.field.find('[');
  const auto index = parse_number(
      problem.field.substr(std::min(bracket, problem.field.size() - 1) + 1, problem.field.find(']') - bracket - 1));
  const bool is_of_first = index ? *index < flags.after.size() : !flags.after.empty();
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
