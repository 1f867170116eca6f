// A container as a stored definition has it: the fields of a job that say what it is like, as an object.
#pragma once

#include <boost/json/fwd.hpp>

#include "base/container.h"
#include "base/result.h"

namespace drover {

/// What is usual is left out.
boost::json::object container_to_json(const ContainerOptions& options);
/// As it was stored.
Result<ContainerOptions> container_from_json(const boost::json::object& stored);

}  // namespace drover
