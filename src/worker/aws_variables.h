// The variables by which AWS's clients inside attempts find the server, and sign as the attempt that they are in.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ports/container.h"
#include "wire/definition.h"
#include "wire/worker_protocol.h"

namespace drover {

/// Whether AWS's clients of this job shall find the server. Not if the job, or for a program the worker's own
/// environment, says where they go or with which keys: then nothing is set.
bool uses_our_aws(const Definition& definition);

/// To what attempts are told anyway: AWS_ENDPOINT_URL, the region, and AWS_CA_BUNDLE where TLS is spoken.
void add_aws_address(std::map<std::string, std::string>& settings);

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of one attempt; none if the job has no key for them.
std::vector<std::string> aws_credentials(const WorkerJob& job, Token token, AttemptNumber attempt);

/// The certificate that $DROVER_CA names is not in a container: it is mounted, and the setting names it there.
std::shared_ptr<const ContainerPlan> with_authority(std::shared_ptr<const ContainerPlan> plan,
                                                    std::map<std::string, std::string>& settings);

}  // namespace drover
