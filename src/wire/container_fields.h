// The fields of a job that say what its container is like, read and written.
#pragma once

#include <boost/json/fwd.hpp>
#include <optional>
#include <set>
#include <string>

#include "base/container.h"
#include "base/result.h"
#include "wire/job_reader.h"

namespace drover {

/// Nothing is read if none of them is said. Without an image they say nothing: that is complained of, unless a
/// definition may name one.
void read_container(JobReader& reader, std::optional<ContainerOptions>& out);

/// What is usual is left out, unless it was said.
boost::json::object container_to_json(const ContainerOptions& options,
                                      const std::set<std::string, std::less<>>& said = {});
/// As it was stored.
Result<ContainerOptions> container_from_json(const boost::json::object& stored);

}  // namespace drover
