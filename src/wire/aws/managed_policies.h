// The AWS managed policies that are commonly attached to roles for batch work. ReadOnlyAccess covers only the services
// that batch work uses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/aws/policy.h"

namespace drover::aws {

struct ManagedPolicy {
  std::string name;  // such as AmazonECSTaskExecutionRolePolicy
  std::string path;  // "/" or "/service-role/"
  std::string arn;
  std::string json;  // the document, for clients that read it
  PolicyDocument document;
};

/// All of them, by name.
const std::vector<ManagedPolicy>& managed_policies();

/// None if there is no such policy.
const ManagedPolicy* find_managed_policy(std::string_view arn);

}  // namespace drover::aws
