// A container job of AWS Batch in Drover's words: from what a definition says, with what a submission says over it, to
// a job document as the native API takes it. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <expected>
#include <string>

#include "api/aws/fault.h"

namespace drover::aws {

/// A definition as RegisterJobDefinition takes it: containerProperties, parameters, retryStrategy, timeout and so on.
using JobProperties = boost::json::object;

/// What cannot be done is named, before anything is stored.
std::expected<void, Fault> check_properties(const JobProperties& properties);

/// The definition with a submission's overrides: environments merge by name, parameters by key, and everything else is
/// replaced.
JobProperties with_overrides(JobProperties definition, const boost::json::object& submission);

/// The fields of a job document, without its name, its items, its queue and what it comes after. `Ref::NAME` in the
/// command is replaced by the parameter of that name.
std::expected<boost::json::object, Fault> native_job(const JobProperties& properties);

}  // namespace drover::aws
