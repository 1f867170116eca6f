// What an attempt printed, byte for byte: its standard output to ours, its standard error to ours.
#pragma once

#include "base/result.h"
#include "logs/extents.h"
#include "logs/log_reader.h"
#include "logs/record.h"

namespace drover {

/// False when nobody reads our standard output any more. Parts that are damaged are named on standard error.
Result<bool> print_raw_log(LogReader& reader, const LogKey& key, const ExtentList& extents);

}  // namespace drover
