#include "cli/server_job.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <filesystem>

#include "base/units.h"
#include "cli/answer.h"
#include "server/server.h"
#include "store/run_folder.h"

namespace drover {

Result<Site> site_of(const CommonFlags& common, const ServerFlags& flags, const std::string& reference) {
  if (names_server(flags)) return Site::server;
  const std::string root = data_root(common.data);
  auto run = resolve(root, reference);
  if (run) return Site::here;
  if (flags.local) return pass(run);
  std::error_code ignored;
  const bool has_server = std::filesystem::exists(server_address_file(root), ignored);
  if (has_server && run.error().code == ErrorCode::not_found) return Site::server;
  return pass(run);
}

Result<JobReference> job_and_item(ServerClient& client, const std::string& reference) {
  const std::size_t colon = reference.rfind(':');
  JobReference out{reference.substr(0, colon), ""};
  if (colon != std::string::npos) {
    out.item = reference.substr(colon + 1);
    if (!parse_number(out.item)) {
      return fail(ErrorCode::bad_input, fmt::format("invalid item reference '{}'", reference),
                  "write JOB:INDEX, such as render:17; indexes start at 0");
    }
  }
  if (!out.job.empty()) return out;
  auto newest = client.get("/api/v1/jobs?limit=1");
  if (!newest) return pass(newest);
  const boost::json::array& jobs = list_in(*newest, "jobs");
  if (jobs.empty()) return fail(ErrorCode::not_found, "the server has no jobs yet", "submit one with 'drover submit'");
  out.job = text_in(jobs.front(), "id");
  return out;
}

Result<std::string> whole_job(ServerClient& client, const std::string& reference) {
  auto found = job_and_item(client, reference);
  if (!found) return pass(found);
  if (found->item.empty()) return found->job;
  return fail(ErrorCode::bad_input, "expected a job, not one of its items", "omit the colon and the index");
}

std::string job_path(const std::string& job, const std::string& below) {
  return fmt::format("/api/v1/jobs/{}{}", url_escape(job), below);
}

}  // namespace drover
