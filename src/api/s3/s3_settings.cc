// Settings of buckets and of objects: those that mean something here, those that are kept and described, and those
// that nobody can make.
#include <array>

#include "api/s3/s3_answers.h"
#include "api/s3/s3_api.h"
#include "api/s3/s3_fault.h"
#include "api/s3/s3_headers.h"
#include "api/sqs/queue_policy.h"
#include "base/text.h"
#include "wire/aws/policy.h"
#include "wire/aws/s3_documents.h"

namespace drover::aws {
namespace {

constexpr std::size_t kMostTagsOfBucket = 50;
constexpr std::string_view kAcl = "x-amz-acl";
constexpr std::string_view kEverybody = "http://acs.amazonaws.com/groups/global/AllUsers";
constexpr std::string_view kKnownUsers = "http://acs.amazonaws.com/groups/global/AuthenticatedUsers";

/// What S3 answers where nothing was set: a fault, or a document.
struct Unset {
  std::string_view selector;
  std::string_view code;  // empty: a document
  std::string_view text;  // a message, or the document
};
constexpr std::array<Unset, 12> kUnset{{
    {"encryption", "ServerSideEncryptionConfigurationNotFoundError",
     "The server side encryption configuration was not found"},
    {"lifecycle", "NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist"},
    {"website", "NoSuchWebsiteConfiguration", "The specified bucket does not have a website configuration"},
    {"replication", "ReplicationConfigurationNotFoundError", "The replication configuration was not found"},
    {"object-lock", "ObjectLockConfigurationNotFoundError", "Object Lock configuration does not exist for this bucket"},
    {"publicAccessBlock", "NoSuchPublicAccessBlockConfiguration",
     "The public access block configuration was not found"},
    {"ownershipControls", "OwnershipControlsNotFoundError", "The bucket ownership controls were not found"},
    {"retention", "NoSuchObjectLockConfiguration", "The specified object does not have a ObjectLock configuration"},
    {"legal-hold", "NoSuchObjectLockConfiguration", "The specified object does not have a ObjectLock configuration"},
    {"logging", "", "BucketLoggingStatus"},
    {"accelerate", "", "AccelerateConfiguration"},
    {"requestPayment", "", "RequestPaymentConfiguration"},
}};

std::string tags_xml(const Tags& tags) {
  std::string out;
  for (const auto& [name, value] : tags) {
    out += concat("<Tag>", xml_tag("Key", name), xml_tag("Value", value), "</Tag>");
  }
  return concat("<TagSet>", out, "</TagSet>");
}

std::string grant_xml(std::string_view grantee, std::string_view permission) {
  return concat("<Grant>", grantee, xml_tag("Permission", permission), "</Grant>");
}

std::string group_xml(std::string_view group) {
  return concat("<Grantee xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"Group\">",
                xml_tag("URI", group), "</Grantee>");
}

/// What a canned ACL grants.
std::string acl_xml(const std::string& canned, const std::string& owner) {
  const std::string user =
      concat("<Grantee xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"CanonicalUser\">",
             xml_tag("ID", owner), xml_tag("DisplayName", owner), "</Grantee>");
  std::string grants = grant_xml(user, "FULL_CONTROL");
  if (canned.starts_with("public-read")) grants += grant_xml(group_xml(kEverybody), "READ");
  if (canned == "public-read-write") grants += grant_xml(group_xml(kEverybody), "WRITE");
  if (canned == "authenticated-read") grants += grant_xml(group_xml(kKnownUsers), "READ");
  return concat("<Owner>", xml_tag("ID", owner), xml_tag("DisplayName", owner), "</Owner><AccessControlList>", grants,
                "</AccessControlList>");
}

bool is_event(std::string_view event) {
  constexpr std::array<std::string_view, 9> kEvents{
      "s3:ObjectCreated:*",      "s3:ObjectCreated:Put", "s3:ObjectCreated:Post",
      "s3:ObjectCreated:Copy",   "s3:ObjectRemoved:*",   "s3:ObjectCreated:CompleteMultipartUpload",
      "s3:ObjectRemoved:Delete", "s3:TestEvent",         "s3:ObjectRemoved:DeleteMarkerCreated"};
  return std::ranges::find(kEvents, event) != kEvents.end();
}

/// Two rules that would both take the same event of the same object.
bool overlap(const EventRule& a, const EventRule& b) {
  const auto share = [](std::string_view x, std::string_view y) {
    const auto covers = [](std::string_view pattern, std::string_view event) {
      return pattern == event || (pattern.ends_with('*') && event.starts_with(pattern.substr(0, pattern.size() - 1)));
    };
    return covers(x, y) || covers(y, x);
  };
  const bool same_keys = (a.prefix.starts_with(b.prefix) || b.prefix.starts_with(a.prefix)) &&
                         (a.suffix.ends_with(b.suffix) || b.suffix.ends_with(a.suffix));
  return same_keys && std::ranges::any_of(a.events, [&](const std::string& x) {
           return std::ranges::any_of(b.events, [&](const std::string& y) { return share(x, y); });
         });
}

std::unexpected<Fault> bad_target(const std::string& why) {
  return std::unexpected(
      Fault{"InvalidArgument", concat("Unable to validate the following destination configurations: ", why), 400});
}

}  // namespace

std::optional<std::string> S3Api::setting(Call& call, const std::string& kind, const Fault& unset) {
  auto found = buckets_.setting(call.request.bucket, kind);
  if (!found) {
    call.refuse(found.error());
    return std::nullopt;
  }
  if (!found->has_value()) call.refuse(unset);
  return std::move(*found);
}

void S3Api::delete_setting(const CallPointer& call, std::string kind) {
  buckets_.set_setting(call->request.bucket, std::move(kind), std::nullopt, done(call, 204));
}

void S3Api::get_versioning(Call& call) {
  const auto bucket = buckets_.bucket(call.request.bucket);
  if (!bucket) return call.refuse(bucket.error());
  std::string status;
  if (bucket->versioning == Versioning::enabled) status = xml_tag("Status", "Enabled");
  if (bucket->versioning == Versioning::suspended) status = xml_tag("Status", "Suspended");
  call.reply.send(xml_answer("VersioningConfiguration", status));
}

void S3Api::put_versioning(const CallPointer& call) {
  const auto status = read_versioning(call->body);
  if (!status) return call->refuse(malformed_xml(status.error()));
  buckets_.set_versioning(call->request.bucket, *status == "Enabled" ? Versioning::enabled : Versioning::suspended,
                          done(call));
}

void S3Api::get_notification(Call& call) {
  const auto rules = buckets_.event_rules(call.request.bucket);
  if (!rules) return call.refuse(rules.error());
  std::string content;
  for (const EventRule& it : *rules) {
    std::string events;
    for (const std::string& event : it.events) events += xml_tag("Event", event);
    std::string filter;
    const auto add = [&](std::string_view name, const std::string& value) {
      if (value.empty()) return;
      filter += concat("<FilterRule>", xml_tag("Name", name), xml_tag("Value", value), "</FilterRule>");
    };
    add("Prefix", it.prefix);
    add("Suffix", it.suffix);
    if (!filter.empty()) filter = concat("<Filter><S3Key>", filter, "</S3Key></Filter>");
    content += concat("<QueueConfiguration>", xml_tag("Id", it.id), xml_tag("Queue", it.target), events, filter,
                      "</QueueConfiguration>");
  }
  call.reply.send(xml_answer("NotificationConfiguration", content));
}

std::expected<EventRule, Fault> S3Api::rule_from(const std::string& bucket,
                                                 const NotificationRequest::Queue& queue) const {
  constexpr std::string_view kSqs = "arn:aws:sqs:";
  EventRule out{.id = queue.id.empty() ? random_uuid().text() : queue.id,
                .stream = queue.arn.substr(queue.arn.rfind(':') + 1),
                .target = queue.arn,
                .events = queue.events,
                .prefix = queue.prefix,
                .suffix = queue.suffix};
  for (const std::string& it : queue.events) {
    if (!is_event(it)) {
      return std::unexpected(Fault{"InvalidArgument", concat("The event '", it, "' is not supported"), 400});
    }
  }
  const std::string region = queue.arn.starts_with(kSqs)
                                 ? queue.arn.substr(kSqs.size(), queue.arn.find(':', kSqs.size()) - kSqs.size())
                                 : std::string();
  const auto stream = backend_.find_stream(out.stream);
  if (queue.arn != account_.arn("sqs", region, out.stream) || !stream) {
    return bad_target(concat("the queue ", queue.arn, " does not exist"));
  }
  if (stream->fifo) return bad_target(concat("the queue ", queue.arn, " is a FIFO queue, which S3 does not send to"));
  const SendingService service{.name = "s3.amazonaws.com", .source_arn = concat("arn:aws:s3:::", bucket)};
  if (!may_send(*stream, service, account_, region)) {
    return bad_target(concat("the policy of the queue ", queue.arn,
                             " does not allow s3.amazonaws.com to send messages ", "for ", service.source_arn));
  }
  return out;
}

void S3Api::put_notification(const CallPointer& call) {
  const auto request = read_notification(call->body);
  if (!request) return call->refuse(malformed_xml(request.error()));
  if (!request->other.empty()) {
    return call->refuse(Fault{"NotImplemented", concat("Events go to queues only: not to a ", request->other), 501});
  }
  if (const auto bucket = buckets_.bucket(call->request.bucket); !bucket) return call->refuse(bucket.error());
  std::vector<EventRule> rules;
  for (const NotificationRequest::Queue& it : request->queues) {
    auto rule = rule_from(call->request.bucket, it);
    if (!rule) return call->refuse(rule.error());
    if (std::ranges::any_of(rules, [&](const EventRule& other) { return overlap(other, *rule); })) {
      return call->refuse(
          Fault{"InvalidArgument",
                "Configurations overlap. Configurations on the same bucket cannot share a common event type.", 400});
    }
    rules.push_back(std::move(*rule));
  }
  buckets_.set_event_rules(call->request.bucket, std::move(rules), call->cause(), done(call));
}

void S3Api::get_tagging(Call& call) {
  if (call.request.row->level == S3Level::object) {
    const auto object = buckets_.head(call.object());
    if (!object) return call.refuse(object.error());
    HttpResponse out = xml_answer("Tagging", tags_xml(tags_from(object->tags)));
    add_version(out, *object, call.request.version().has_value());
    return call.reply.send(std::move(out));
  }
  const auto text = setting(call, "tagging", {"NoSuchTagSet", "The TagSet does not exist", 404});
  if (text) call.reply.send(xml_answer("Tagging", tags_xml(tags_from(*text))));
}

void S3Api::put_tagging(const CallPointer& call) {
  const bool is_of_object = call->request.row->level == S3Level::object;
  std::string text;
  if (call->request.operation() != S3Operation::delete_object_tagging) {
    if (auto checked = check_small_body(call->head, call->body); !checked) return call->refuse(checked.error());
    const auto tags = read_tagging(call->body);
    if (!tags) return call->refuse(malformed_xml(tags.error()));
    auto written = is_of_object ? tags_text(*tags) : tags_text(*tags, kMostTagsOfBucket);
    if (!written) return call->refuse(written.error());
    text = std::move(*written);
  }
  if (!is_of_object) return buckets_.set_setting(call->request.bucket, "tagging", std::move(text), done(call, 204));
  const int status = call->request.operation() == S3Operation::delete_object_tagging ? 204 : 200;
  buckets_.set_tags(call->object(), std::move(text), [call, status](const BucketResult<StoredObject>& set) {
    if (!set) return call->refuse(set.error());
    HttpResponse out = s3_answer(status);
    add_version(out, *set, call->request.version().has_value());
    call->reply.send(std::move(out));
  });
}

void S3Api::get_policy(Call& call) {
  const auto text = setting(call, "policy", {"NoSuchBucketPolicy", "The bucket policy does not exist", 404});
  if (!text) return;
  if (call.request.operation() == S3Operation::get_bucket_policy_status) {
    return call.reply.send(xml_answer("PolicyStatus", xml_tag("IsPublic", "FALSE")));
  }
  HttpResponse out = s3_answer();
  out.headers.push_back({"Content-Type", "application/json"});
  out.body = *text;
  call.reply.send(std::move(out));
}

void S3Api::put_policy(const CallPointer& call) {
  if (auto checked = check_small_body(call->head, call->body); !checked) return call->refuse(checked.error());
  if (auto policy = policy_from_json(call->body, PolicyKind::resource); !policy) {
    return call->refuse(Fault{"MalformedPolicy", policy.error().message, 400});
  }
  buckets_.set_setting(call->request.bucket, "policy", call->body, done(call, 204));
}

void S3Api::get_cors(Call& call) {
  const auto text = setting(call, "cors", {"NoSuchCORSConfiguration", "The CORS configuration does not exist", 404});
  if (text) call.reply.send(xml_answer(*text));
}

void S3Api::put_cors(const CallPointer& call) {
  if (auto checked = check_small_body(call->head, call->body); !checked) return call->refuse(checked.error());
  if (auto cors = check_cors(call->body); !cors) return call->refuse(malformed_xml(cors.error()));
  buckets_.set_setting(call->request.bucket, "cors", call->body, done(call));
}

void S3Api::get_acl(Call& call) {
  std::string canned = "private";
  if (call.request.row->level == S3Level::object) {
    const auto object = buckets_.head(call.object());
    if (!object) return call.refuse(object.error());
    for (const auto& [name, value] : object->headers) {
      if (name == kAcl) canned = value;
    }
  } else {
    const auto kept = buckets_.setting(call.request.bucket, "acl");
    if (!kept) return call.refuse(kept.error());
    if (kept->has_value()) canned = **kept;
  }
  call.reply.send(xml_answer("AccessControlPolicy", acl_xml(canned, account_.id)));
}

void S3Api::put_acl(const CallPointer& call) {
  const std::string* header = call->head.header(kAcl);
  std::string canned = header == nullptr ? std::string() : *header;
  if (canned.empty()) {
    auto read = canned_acl_of(call->body);
    if (!read)
      return call->refuse(Fault{"NotImplemented", concat("Only canned ACLs are kept: ", read.error().message), 501});
    canned = std::move(*read);
  }
  if (call->request.row->level == S3Level::bucket) {
    return buckets_.set_setting(call->request.bucket, "acl", std::move(canned), done(call));
  }
  buckets_.set_header(call->object(), std::string(kAcl), std::move(canned),
                      [call](const BucketResult<StoredObject>& set) {
                        if (!set) return call->refuse(set.error());
                        call->reply.send(s3_answer());
                      });
}

void S3Api::get_unset(Call& call) {
  if (call.request.row->level == S3Level::object) {
    if (const auto object = buckets_.head(call.object()); !object) return call.refuse(object.error());
  } else if (const auto bucket = buckets_.bucket(call.request.bucket); !bucket) {
    return call.refuse(bucket.error());
  }
  const auto found = std::ranges::find(kUnset, call.request.row->selector, &Unset::selector);
  if (found == kUnset.end()) return call.refuse(Fault{"NotImplemented", "This is not implemented.", 501});
  if (!found->code.empty()) {
    return call.refuse(Fault{std::string(found->code), std::string(found->text), 404});
  }
  const bool is_payment = found->selector == "requestPayment";
  call.reply.send(xml_answer(found->text, is_payment ? xml_tag("Payer", "BucketOwner") : ""));
}

}  // namespace drover::aws
