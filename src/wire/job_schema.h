// The JSON Schema of job files, for editors.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "wire/job_fields.h"

namespace drover {

/// Made from the table of fields; docs/job.schema.json is this text.
std::string job_schema();

/// What a field may be, as schemas; one of them.
boost::json::array field_kinds(const JobField& field, Face face);
/// What the view of a job has of it.
boost::json::object shown_schema(const JobField& field);

}  // namespace drover
