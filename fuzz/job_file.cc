// A job file, YAML or JSON: what is wrong with it has a place inside it, and what is read from it a server takes.
#include "wire/job_file.h"

#include "fuzzed.h"

namespace drover {

void fuzz_one(std::string_view bytes) {
  const auto file = read_job_file(bytes, {.command = false, .items = false});
  if (!file) {
    DROVER_CHECK(!file.error().empty(), "a refusal has a reason");
    const auto lines = static_cast<std::size_t>(std::ranges::count(bytes, '\n')) + 1;
    for (const JobProblem& problem : file.error()) {
      DROVER_CHECK(!problem.what.empty() && !problem.next.empty(),
                   "a problem says what it is, and what to do about it");
      DROVER_CHECK(problem.place.line >= 1 && problem.place.line <= lines && problem.place.column >= 1,
                   "a problem stands in the file");
    }
    DROVER_CHECK(std::ranges::is_sorted(file.error(), {}, &JobProblem::place), "problems are told in order");
    DROVER_CHECK(!show_problems("job.yaml", bytes, file.error()).empty(), "they can be shown");
    return;
  }
  Submission job = file->job;
  if (job.definition.command.empty() && job.named_definition.empty()) job.definition.command = {"true"};
  // Those that the file names by a folder or another file are read by the client.
  const auto* items = std::get_if<std::vector<std::string>>(&job.items);
  if (items != nullptr && items->empty()) job.items = NumberItems{.first = 1, .last = 1};
  const std::string text = submission_to_json(job);
  const auto sent = submission_from_json(text);
  DROVER_CHECK(sent.has_value(), "what a file says can be sent");
  DROVER_CHECK(submission_to_json(*sent) == text, "and arrives as it was");
}

}  // namespace drover
