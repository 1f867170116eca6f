#include "api/s3/s3_events.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "api/sqs/outgoing_message.h"
#include "base/text.h"
#include "base/url.h"
#include "ports/entropy.h"
#include "wire/aws/times.h"
#include "wire/digest.h"

namespace drover::aws {
namespace {

namespace json = boost::json;

constexpr std::string_view kSender = "s3.amazonaws.com";

/// Escaped as in a form: a space is a plus sign, and slashes stay.
std::string escaped_key(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '/') {
      out += c;
    } else if (c == ' ') {
      out += '+';
    } else {
      out += percent_encoded(std::string_view(&c, 1));
    }
  }
  return out;
}

/// Of two events of one key, the later one has the higher text.
std::string sequencer(std::uint64_t sequence) {
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789ABCDEF"[sequence >> shift & 15];
  return out;
}

}  // namespace

std::string event_text(const ObjectEvent& event, const Account& account) {
  if (event.event == "TestEvent") {
    return json::serialize(json::object{{"Service", "Amazon S3"},
                                        {"Event", "s3:TestEvent"},
                                        {"Time", iso_time(event.time_ms)},
                                        {"Bucket", event.bucket},
                                        {"RequestId", event.cause.request},
                                        {"HostId", "drover"}});
  }
  json::object object{{"key", escaped_key(event.key)}};
  if (event.event.starts_with("ObjectCreated")) {
    object["size"] = event.size;
    object["eTag"] = event.etag;
  }
  if (!event.version.empty()) object["versionId"] = event.version;
  object["sequencer"] = sequencer(event.sequence);
  const json::object record{{"eventVersion", "2.1"},
                            {"eventSource", "aws:s3"},
                            {"awsRegion", event.region},
                            {"eventTime", iso_time(event.time_ms)},
                            {"eventName", event.event},
                            {"userIdentity", {{"principalId", concat("AWS:", event.cause.who)}}},
                            {"requestParameters", {{"sourceIPAddress", event.cause.peer}}},
                            {"responseElements", {{"x-amz-request-id", event.cause.request}, {"x-amz-id-2", "drover"}}},
                            {"s3",
                             {{"s3SchemaVersion", "1.0"},
                              {"configurationId", event.rule},
                              {"bucket",
                               {{"name", event.bucket},
                                {"ownerIdentity", {{"principalId", account.id}}},
                                {"arn", concat("arn:aws:s3:::", event.bucket)}}},
                              {"object", object}}}};
  return json::serialize(json::object{{"Records", json::array{record}}});
}

OutgoingMessage event_message(const ObjectEvent& event, const Account& account) {
  MessageContent content{.id = random_uuid(),
                         .sender = std::string(kSender),
                         .sent_ms = event.time_ms,
                         .body = event_text(event, account)};
  content.body_md5 = md5(content.body);
  const std::uint64_t bytes = bytes_of(content);
  return {.content = std::move(content), .bytes = bytes, .feed_number = event.number};
}

}  // namespace drover::aws
