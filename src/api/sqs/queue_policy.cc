#include "api/sqs/queue_policy.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/sqs/plain_name.h"
#include "api/sqs/queue_attributes.h"
#include "api/sqs/sqs_fault.h"
#include "wire/aws/policy_evaluation.h"

namespace drover::aws {
namespace {

namespace json = boost::json;

constexpr std::string_view kDenyAll =
    R"({"Version":"2012-10-17","Statement":[{"Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"*"}]})";
constexpr std::array<std::string_view, 9> kActions{
    "*",           "ChangeMessageVisibility",    "DeleteMessage", "GetQueueAttributes",
    "GetQueueUrl", "ListDeadLetterSourceQueues", "PurgeQueue",    "ReceiveMessage",
    "SendMessage"};
constexpr std::size_t kMostActions = 7;
constexpr std::size_t kAccountDigits = 12;

bool is_account(std::string_view text) {
  return text.size() == kAccountDigits && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// The document as it was written, with its statements in a list.
std::expected<json::object, Fault> document_of(const std::string& text) {
  if (text.empty()) return json::object{{"Version", "2012-10-17"}, {"Statement", json::array()}};
  json::error_code error;
  json::value document = json::parse(text, error);
  if (error || !document.is_object()) return bad_value("Policy", text, "The policy cannot be read.");
  json::value& statements = document.get_object()["Statement"];
  if (!statements.is_array()) statements = json::array{std::move(statements)};
  return std::move(document.get_object());
}

bool is_labelled(const json::value& statement, std::string_view label) {
  const json::value* sid = statement.is_object() ? statement.get_object().if_contains("Sid") : nullptr;
  return sid != nullptr && sid->is_string() && sid->get_string() == label;
}

}  // namespace

std::shared_ptr<const PolicyDocument> queue_policy(const StreamSpec& queue) {
  if (queue.text.empty()) return nullptr;
  const QueueText text = queue_text(queue);
  const std::string* policy = text.attribute("Policy");
  if (policy == nullptr) return nullptr;
  auto read = policy_from_json(*policy, PolicyKind::resource);
  if (!read) read = policy_from_json(kDenyAll, PolicyKind::resource);
  return std::make_shared<const PolicyDocument>(std::move(*read));
}

bool may_send(const StreamSpec& queue, const SendingService& service, const Account& account, std::string_view region) {
  const auto policy = queue_policy(queue);
  if (!policy) return false;
  const AccessRequest request{.action = "sqs:SendMessage",
                              .resource = account.arn("sqs", region, queue.name),
                              .principal = {.arn = {}, .role_arn = {}, .account = {}, .service = service.name},
                              .context = {{"aws:SourceArn", {service.source_arn}},
                                          {"aws:SourceAccount", {account.id}},
                                          {"aws:PrincipalIsAWSService", {"true"}},
                                          {"aws:SecureTransport", {"true"}}}};
  return evaluate({policy.get()}, request).decision == Decision::allowed;
}

std::expected<std::string, Fault> with_permission(const std::string& policy, const QueuePermission& permission,
                                                  const std::string& queue_arn) {
  if (!is_plain_name(permission.label)) {
    return bad_value("Label", permission.label,
                     "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length");
  }
  json::array accounts;
  for (const std::string& it : permission.accounts) {
    if (!is_account(it)) return bad_value("AWSAccountId", it, "An account id has twelve digits.");
    accounts.emplace_back(concat("arn:aws:iam::", it, ":root"));
  }
  json::array actions;
  for (const std::string& it : permission.actions) {
    if (std::ranges::find(kActions, it) == kActions.end()) {
      return bad_value("ActionName", it, "Only the queue owner is allowed to invoke this action.");
    }
    actions.emplace_back(concat("SQS:", it));
  }
  if (accounts.empty()) return missing("AWSAccountIds");
  if (actions.empty()) return missing("Actions");
  if (actions.size() > kMostActions) {
    return refused(SqsError::over_limit, concat(actions.size(), " Actions were found, maximum allowed is 7."));
  }
  auto document = document_of(policy);
  if (!document) return std::unexpected(std::move(document.error()));
  json::array& statements = (*document)["Statement"].get_array();
  if (std::ranges::any_of(statements, [&](const json::value& it) { return is_labelled(it, permission.label); })) {
    return bad_value("Label", permission.label, "Already exists.");
  }
  statements.push_back(json::object{{"Sid", permission.label},
                                    {"Effect", "Allow"},
                                    {"Principal", {{"AWS", std::move(accounts)}}},
                                    {"Action", std::move(actions)},
                                    {"Resource", queue_arn}});
  return json::serialize(*document);
}

std::expected<std::string, Fault> without_permission(const std::string& policy, const std::string& label) {
  auto document = document_of(policy);
  if (!document) return std::unexpected(std::move(document.error()));
  json::array& statements = (*document)["Statement"].get_array();
  const auto found = std::ranges::find_if(statements, [&](const json::value& it) { return is_labelled(it, label); });
  if (found == statements.end()) return bad_value("Label", label, "can't find label on existing policy.");
  statements.erase(found);
  return statements.empty() ? std::string() : json::serialize(*document);
}

}  // namespace drover::aws
