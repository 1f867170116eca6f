// A job as people submit it in JSON: what to run, on what, and under which rules. Every field is checked, and what is
// wrong is named.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
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

/// A job that must succeed first.
struct After {
  std::string job;    // its id, a unique beginning of it, or its name
  bool each = false;  // every item waits for the item of the same index only

  bool operator==(const After&) const = default;
};

struct Submission {
  std::string name;             // empty: made from the command
  std::string client_token;     // the same one again is the same job
  std::string base_definition;  // NAME or NAME:REVISION: what the job says comes before what that one says
  Definition definition;
  Policy policy;
  Labels require;  // of a worker that shall run it
  std::string queue = "default";
  std::uint32_t priority = 0;  // the higher comes first
  std::string share;
  std::vector<After> after;
  bool sequential = false;        // one item after another; one that fails stops the job
  std::uint64_t max_running = 0;  // items at a time; 0: no limit
  std::int64_t job_timeout_ms = 0;
  std::array<std::uint64_t, 3> accelerators{};                            // as kAcceleratorKinds has them
  std::variant<std::vector<std::string>, NumberItems, ManifestId> items;  // a manifest: uploaded before
  /// The fields that were given, in the table's words: over a definition they count even where they say what is usual.
  std::set<std::string, std::less<>> said;
};

/// {"name": …, "command": ["./process", "{}"], "items": ["a", "b"], …}; see docs/api.md.
Result<Submission> submission_from_json(std::string_view text);
std::string submission_to_json(const Submission& submission);
/// A named definition: the same, without items.
Result<Submission> template_from_json(std::string_view text);

/// The job with what a definition says added where it says nothing itself, both as JSON: environments are merged,
/// everything else is replaced.
Result<std::string> job_over_definition(std::string_view definition, std::string_view job);

/// What a job must say itself, since nobody else does.
struct JobNeeds {
  bool command = true;
  bool items = true;
};
/// Reads every field that a submission has, and that its items come from one place.
void read_job(JobReader& reader, JobNeeds needed, Submission& out);

}  // namespace drover
