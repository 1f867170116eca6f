// A job as people keep it in a file, YAML or JSON, beside what it works on.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/job_reader.h"
#include "wire/submission.h"

namespace drover {

struct JobFile {
  Submission job;  // its items: those that stand in the file, if `own_items`
  bool own_items = false;
  std::string items_file;
  std::string dir;
  std::string match;  // files of `dir`
  std::string jsonl;
  std::vector<std::pair<std::string, std::string>> map;
};

/// Everything that is wrong with it, in the order in which it stands there, or what it says.
std::expected<JobFile, std::vector<JobProblem>> read_job_file(std::string_view text, JobNeeds needed);

/// For people: "job.yaml:3:10: field 'retries' is …", the line, and the next step, problem after problem.
std::string show_problems(std::string_view path, std::string_view text, const std::vector<JobProblem>& problems);

}  // namespace drover
