// What the page's script draws: one JSON object.
#pragma once

#include <string>

#include "page/figures.h"
#include "page/report.h"

namespace drover::page {

/// Times in it are in microseconds since the first attempt began. Fails where an item's text cannot be read.
Result<std::string> page_data(const Figures& figures, const ReportOptions& options);

}  // namespace drover::page
