// Requests to SQS in JSON 1.0, signed with version 4 as clients sign them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http_channel.h"
#include "wire/aws/signing_key.h"

namespace drover {

/// Requests about one queue. One message is sent and deleted with the operations for one, more with those for batches.
/// A signature is valid for 15 minutes, so a request can be sent more than once.
class SqsRequests {
 public:
  SqsRequests(const ServerPlace& place, std::string queue_url);

  std::string send(const std::vector<std::string_view>& bodies);
  std::string receive(int most, int wait_seconds = 0);
  std::string remove(const std::vector<std::string>& handles);

 private:
  std::string signed_request(std::string_view operation, std::string_view body);

  const std::string host_;
  const std::string queue_url_;
  std::string key_id_;
  std::string secret_;
  aws::SigningScope scope_{.day = {}, .region = "us-east-1", .service = "sqs"};
  std::optional<aws::SigningKey> key_;  // of the scope's day
};

/// Each ends the program unless the answer says that all of it was done.
void expect_sent(std::string_view answer, std::size_t count);
void expect_removed(std::string_view answer, std::size_t count);
std::vector<std::string> received_handles(std::string_view answer);

}  // namespace drover
