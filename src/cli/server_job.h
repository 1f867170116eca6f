// Which of a server's jobs is meant, and where the API has what belongs to it.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/server_client.h"

namespace drover {

/// JOB or JOB:INDEX.
struct JobReference {
  std::string job;   // an id, a beginning of one, or a name
  std::string item;  // a number, or empty
};

/// Where the thing is that a reference names.
enum class Site : std::uint8_t { here, server };

/// A server's job, if the user names a server; else a run here, or if there is none of that name and a server keeps
/// its data here, a job of that server.
Result<Site> site_of(const CommonFlags& common, const ServerFlags& flags, const std::string& reference);

/// Without a job's name: the newest.
Result<JobReference> job_and_item(ServerClient& client, const std::string& reference);
/// The same where only a whole job will do.
Result<std::string> whole_job(ServerClient& client, const std::string& reference);

/// "/api/v1/jobs/JOB" and what is below it.
std::string job_path(const std::string& job, const std::string& below = {});

}  // namespace drover
