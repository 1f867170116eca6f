// A job and its items as AWS Batch shows them. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/batch/job_properties.h"
#include "api/logs/stream_name.h"
#include "ports/backend.h"
#include "wire/definition.h"

namespace drover::aws {

/// A job's id, and the index of an array's child: "UUID" or "UUID:3".
struct BatchJobId {
  std::string uuid;
  std::optional<ItemIndex> child;
};
/// Nothing: it is not an id.
std::optional<BatchJobId> parse_job_id(std::string_view text);

inline bool is_array(const Job& job) {
  return job.total > 1;
}

/// Of a single job, or of an array as a whole.
std::string_view status_of(const JobView& view);
/// Of one item: `state` as ItemView has it. One that a worker is about to start is RUNNABLE.
std::string_view status_of(const Job& job, std::string_view state);
/// How many children there are in each state.
boost::json::object status_summary(const JobView& view);

/// As they were registered; of what the native API made, what can be said of it in these words.
JobProperties properties_of(const Definition& definition, const JobSpec& spec);
/// The same of a definition as it is stored. One that AWS's clients submitted is not read any further.
Result<JobProperties> stored_properties(std::string_view definition, const JobSpec& spec);

/// An attempt that has ended.
boost::json::object attempt_json(const Job& job, const Attempt& attempt);
/// Why an attempt ended, as AWS puts it.
std::string status_reason(const Attempt& attempt);

}  // namespace drover::aws
