// The names of log streams: "DEFINITION/default/TASK", as AWS Batch makes them. A task is an attempt of an item: "UUID"
// the first of a single job's, "UUID.INDEX" of an array's child, "UUID.INDEX.ATTEMPT" a later one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/records.h"

namespace drover::aws {

struct TaskName {
  std::string job;  // its UUID
  ItemIndex item;
  AttemptNumber attempt = AttemptNumber{1};
};

inline constexpr std::string_view kBatchLogGroup = "/aws/batch/job";

/// Of a job that was made from no definition.
inline constexpr std::string_view kNativeDefinition = "drover-native";

/// "DEFINITION/default/UUID": what the names of all streams of a job begin with.
std::string stream_stem(const Job& job);
std::string log_stream(const Job& job, ItemIndex item, std::uint64_t attempt);
/// Nothing: it is no such name. Whether there is such an attempt is not known here.
std::optional<TaskName> parse_log_stream(std::string_view name);
/// The job that all streams with this prefix belong to. Nothing: they may belong to several.
std::optional<Uuid> job_in_prefix(std::string_view prefix);

}  // namespace drover::aws
