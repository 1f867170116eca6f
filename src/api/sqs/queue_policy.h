// The policy of a queue: who else may use it, and who may not.
#pragma once

#include <boost/json/object.hpp>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/aws/account.h"
#include "api/aws/fault.h"
#include "core/streams/stream_records.h"
#include "wire/aws/policy.h"

namespace drover::aws {

/// Null: it has none. One that cannot be read denies everything.
std::shared_ptr<const PolicyDocument> queue_policy(const StreamSpec& queue);

/// A service that sends messages for one of its resources, such as S3 for a bucket.
struct SendingService {
  std::string name;        // "s3.amazonaws.com"
  std::string source_arn;  // "arn:aws:s3:::bucket"
};
/// Whether the queue's policy lets the service send to it.
bool may_send(const StreamSpec& queue, const SendingService& service, const Account& account, std::string_view region);

/// What AddPermission adds to a policy's text, which may be empty.
struct QueuePermission {
  std::string label;
  std::vector<std::string> accounts;
  std::vector<std::string> actions;  // "SendMessage", "*"
};
std::expected<std::string, Fault> with_permission(const std::string& policy, const QueuePermission& permission,
                                                  const std::string& queue_arn);
/// Empty: nothing is left of it.
std::expected<std::string, Fault> without_permission(const std::string& policy, const std::string& label);

}  // namespace drover::aws
