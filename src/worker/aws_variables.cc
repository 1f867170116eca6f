#include "worker/aws_variables.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.h"
#include "wire/session_credentials.h"

namespace drover {
namespace {

/// With one of these a client goes elsewhere, or as somebody else.
constexpr std::array kTheirOwn{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",       "AWS_SESSION_TOKEN",
                               "AWS_PROFILE",       "AWS_SHARED_CREDENTIALS_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
                               "AWS_ENDPOINT_URL"};

constexpr const char* kAuthorityInside = "/run/drover/ca.pem";

}  // namespace

bool uses_our_aws(const Definition& definition) {
  return std::ranges::none_of(kTheirOwn, [&](const char* name) {
    const bool is_set_by_job =
        std::ranges::any_of(definition.environment, [&](const auto& it) { return it.first == name; });
    return is_set_by_job || (!definition.container && std::getenv(name) != nullptr);
  });
}

void add_aws_address(std::map<std::string, std::string>& settings) {
  const auto address = settings.find("DROVER_SERVER");
  // AWS's clients speak to hosts, not to sockets of this machine.
  if (address == settings.end() || address->second.starts_with("unix:")) return;
  settings["AWS_ENDPOINT_URL"] = address->second;
  settings["AWS_REGION"] = kAwsRegion;
  settings["AWS_DEFAULT_REGION"] = kAwsRegion;
  if (const auto authority = settings.find("DROVER_CA"); authority != settings.end()) {
    settings["AWS_CA_BUNDLE"] = authority->second;
  }
}

std::vector<std::string> aws_credentials(const WorkerJob& job, Token token, AttemptNumber attempt) {
  if (job.attempts_key.empty()) return {};
  const SessionCredentials made = attempt_credentials(job.attempts_key, token, attempt);
  return {concat("AWS_ACCESS_KEY_ID=", made.key_id), concat("AWS_SECRET_ACCESS_KEY=", made.secret),
          concat("AWS_SESSION_TOKEN=", made.session_token)};
}

std::shared_ptr<const ContainerPlan> with_authority(std::shared_ptr<const ContainerPlan> plan,
                                                    std::map<std::string, std::string>& settings) {
  const auto authority = settings.find("DROVER_CA");
  if (!plan || authority == settings.end()) return plan;
  auto changed = std::make_shared<ContainerPlan>(*plan);
  changed->edits.mounts.push_back({.source = authority->second, .target = kAuthorityInside, .read_only = true});
  authority->second = kAuthorityInside;
  return changed;
}

}  // namespace drover
