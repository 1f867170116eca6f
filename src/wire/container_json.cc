#include "wire/container_json.h"

#include <boost/json.hpp>

#include "wire/submission.h"

namespace drover {
namespace json = boost::json;

json::object container_to_json(const ContainerOptions& options) {
  Submission job;
  job.definition.container = options;
  json::object out;
  for (const auto& [name, value] : written_fields(job, Section::container)) out[name] = json::parse(value);
  return out;
}

Result<ContainerOptions> container_from_json(const json::object& stored) {
  const auto node = node_from_json(json::serialize(stored));
  Submission job;
  if (node) {
    JobReader reader(*node, Face::api);
    read_fields(reader, job);
    check_container(reader, job);
  }
  const std::optional<ContainerOptions>& options = job.definition.container;
  const bool has_bad_digest = options && options->digest.empty() && stored.contains("image_digest");
  // Without its digest another image might be run than the one that was meant.
  if (!options || has_bad_digest) return fail(ErrorCode::damaged, "a stored definition has an invalid container");
  return *options;
}

}  // namespace drover
