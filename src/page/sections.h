// The parts of the page that are HTML as they stand and need no script.
#pragma once

#include <string>

#include "page/figures.h"
#include "page/report.h"

namespace drover::page {

/// Name, state, command, counts and the numbers at a glance.
std::string head_section(const Job& job, const Figures& figures, const ReportOptions& options);

/// The quantiles below each of the two histograms.
std::string duration_quantiles(const Figures& figures);
std::string memory_quantiles(const Figures& figures);

/// Every way in which items failed, with an example of each.
Result<std::string> failure_section(const Job& job, const Figures& figures, const ReportOptions& options);

/// The slowest items, those with the most memory, and those that kept GPUs busiest.
Result<std::string> slowest_table(const Figures& figures, const ReportOptions& options);
Result<std::string> largest_table(const Figures& figures, const ReportOptions& options);
Result<std::string> busiest_table(const Figures& figures, const ReportOptions& options);

}  // namespace drover::page
