#include "page/report.h"

#include "page/figures.h"
#include "page/html.h"
#include "page/page_data.h"
#include "page/page_files.h"
#include "page/sections.h"
#include "page/whole_file.h"

namespace drover {

Result<void> write_report(StoreReader& reader, const Job& job, const ReportOptions& options) {
  auto figures = page::read_figures(reader, job.id, options.shape);
  if (!figures) return pass(figures);
  auto failures = page::failure_section(job, *figures, options);
  if (!failures) return pass(failures);
  auto slowest = page::slowest_table(*figures, options);
  if (!slowest) return pass(slowest);
  auto largest = page::largest_table(*figures, options);
  if (!largest) return pass(largest);
  auto busiest = page::busiest_table(*figures, options);
  if (!busiest) return pass(busiest);
  auto data = page::page_data(*figures, options);
  if (!data) return pass(data);

  return page::write_whole_file(
      options.path, page::fill(page::skeleton(), {{"name", page::html_text(job.name, 200)},
                                                  {"style", page::style()},
                                                  {"kind", figures->attempts == 0 ? "bare" : "full"},
                                                  {"head", page::head_section(job, *figures, options)},
                                                  {"duration_quantiles", page::duration_quantiles(*figures)},
                                                  {"memory_quantiles", page::memory_quantiles(*figures)},
                                                  {"failures", *failures},
                                                  {"slowest", *slowest},
                                                  {"largest", *largest},
                                                  {"gpus", figures->has_gpus() ? "" : "hidden"},
                                                  {"busiest", *busiest},
                                                  {"version", page::html_text(options.drover_version, 200)},
                                                  {"now", page::local_time(options.now_ms)},
                                                  {"data", *data},
                                                  {"script", page::script()}}));
}

}  // namespace drover
