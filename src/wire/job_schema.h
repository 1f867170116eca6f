// The JSON Schema of job files, for editors.
#pragma once

#include <string>

namespace drover {

/// Made from the table of fields; docs/job.schema.json is this text.
std::string job_schema();

}  // namespace drover
