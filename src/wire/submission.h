// A job as people submit it in JSON: what to run, on what, and under which rules. Every field is checked, and what is
// wrong is named.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/resources.h"
#include "base/result.h"
#include "core/policy.h"
#include "core/records.h"
#include "wire/definition.h"
#include "wire/job_reader.h"

namespace drover {

/// What is kept of an attempt's output where nobody says.
inline constexpr std::uint64_t kUsualLogBytes = std::uint64_t{64} << 20;

/// The numbers from first to last.
struct NumberItems {
  std::int64_t first = 0;
  std::int64_t last = 0;

  bool operator==(const NumberItems&) const = default;
};

struct Submission : JobSpec {
  Submission() { definition.limits.log_bytes = kUsualLogBytes; }

  std::string client_token;  // the same one again is the same job
  Definition definition;
  std::vector<After> after_jobs;  // JobSpec::after is filled in where jobs are known
  std::variant<std::vector<std::string>, NumberItems, ManifestId> items;  // a manifest: uploaded before
  /// The fields that were given, in the table's words: over a definition they count even where they say what is usual.
  std::set<std::string, std::less<>> said;
};

/// What a job must say itself, since nobody else does.
struct JobNeeds {
  bool command = true;
  bool items = true;
};

/// A job as it came over the wire; see docs/api.md.
Result<Node> job_document(std::string_view text);
/// {"name": …, "command": ["./process", "{}"], "items": ["a", "b"], …}
Result<Submission> submission_from(const Node& document, JobNeeds needs = {});
Result<Submission> submission_from_json(std::string_view text);
std::string submission_to_json(const Submission& submission);

/// The job with what a definition says added where it says nothing itself: environments are merged, everything else is
/// replaced.
Node job_over_definition(Node definition, Node job);

/// Reads every field that a submission has, and that its items come from one place.
void read_job(JobReader& reader, JobNeeds needed, Submission& out);
/// Only what is said, over what `out` says by now, without a look at the whole.
void read_fields(JobReader& reader, Submission& out);
/// Container fields without an image are an error, unless a definition may name one.
void check_container(JobReader& reader, const Submission& job);
/// The fields of a section as JSON. What is usual is left out, unless it was said.
std::vector<std::pair<std::string_view, std::string>> written_fields(const Submission& job, Section section);

}  // namespace drover
