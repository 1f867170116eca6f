#include "api/aws/access.h"

#include <boost/json/array.hpp>
#include <deque>

#include "api/aws/documents.h"
#include "ports/item_marks.h"
#include "wire/aws/managed_policies.h"
#include "wire/aws/policy_evaluation.h"
#include "wire/definition.h"

namespace drover::aws {
namespace {

namespace json = boost::json;

constexpr std::string_view kNoRole = "drover-job";

/// Services that an attempt without a role may use.
bool is_for_every_attempt(std::string_view service) {
  return service == "s3" || service == "sqs" || service == "logs";
}

Fault not_authorized(Protocol protocol, const std::string& arn, const Wish& wish, std::string_view resource,
                     std::string_view why) {
  return fault_of(protocol, {},
                  {ErrorCode::denied,
                   concat("User: ", arn, " is not authorized to perform: ", wish.action,
                          resource == "*" ? "" : concat(" on resource: ", resource), " because ", why),
                   {}});
}

/// The documents of a role: those attached by AWS's names, those made here, and its own.
Result<std::deque<PolicyDocument>> policies_of(StoreReader& ledger, const json::object& role) {
  std::deque<PolicyDocument> out;
  const Documents made_here(ledger, "iam.policy");
  const auto add = [&](std::string_view text) -> Result<void> {
    auto document = policy_from_json(text, PolicyKind::identity);
    if (!document) return pass(document);
    out.push_back(std::move(*document));
    return {};
  };
  for (const json::value& it : role.at("attached").get_array()) {
    const std::string arn(it.get_string());
    if (const ManagedPolicy* managed = find_managed_policy(arn)) {
      out.push_back(managed->document);
      continue;
    }
    auto found = made_here.find(arn);
    if (!found) return pass(found);
    if (!*found) continue;
    if (auto added = add((*found)->value.at("document").get_string()); !added) return pass(added);
  }
  for (const auto& [name, document] : role.at("inline").get_object()) {
    if (auto added = add(document.get_string()); !added) return pass(added);
  }
  return out;
}

}  // namespace

std::string role_name_in(std::string_view arn) {
  return std::string(arn.substr(arn.rfind('/') + 1));
}

std::string Access::arn_of(const Caller& caller) const {
  if (!caller.role.empty()) {
    return account_.arn("sts", "", concat("assumed-role/", caller.role, "/", caller.session));
  }
  // A worker chooses its name when it joins: it must not be taken for a user of that name.
  if (!caller.job && caller.scope == Scope::worker) return account_.arn("iam", "", concat("worker/", caller.key_id));
  if (!caller.job) {
    return account_.arn("iam", "", concat("user/", caller.label.empty() ? caller.key_id : caller.label));
  }
  const auto role = role_of(caller);
  return account_.arn("sts", "",
                      concat("assumed-role/", role && !role->empty() ? *role : kNoRole, "/", caller.job->text()));
}

Result<std::string> Access::role_of(const Caller& caller) const {
  if (!caller.job || !caller.role.empty()) return caller.role;
  auto job = backend_.find_job(caller.job->text());
  if (!job) return pass(job);
  auto text = backend_.definition(job->job.definition);
  if (!text) return pass(text);
  auto definition = definition_from_json(*text);
  if (!definition) return pass(definition);
  if (definition->role.empty()) return std::string();
  std::string name = role_name_in(definition->role);
  auto known = Documents(backend_.ledger(), "iam.role").find(name);
  if (!known) return pass(known);
  const std::unique_ptr<Stored>& role = *known;
  // One of another account, or on another path, is another role.
  const bool is_arn = definition->role.starts_with("arn:");
  if (!role || (is_arn && role->value.at("Arn").get_string() != definition->role)) return std::string();
  return name;
}

Result<bool> Access::is_running(const Uuid& of, const Token& attempt) const {
  auto job = backend_.find_job(of.text());
  if (!job) return job.error().code == ErrorCode::not_found ? Result<bool>(false) : pass(job);
  return is_in_hands(backend_.ledger(), job->job, attempt);
}

std::expected<void, Fault> Access::check(const Caller& caller, const Wish& wish) const {
  const auto failure = [&](const Error& error) { return std::unexpected(fault_of(wish.protocol, {}, error)); };
  if (caller.job && caller.attempt) {
    auto running = is_running(*caller.job, *caller.attempt);
    if (!running) return failure(running.error());
    if (!*running) {
      return std::unexpected(signature_fault(
          wish.protocol, {SignatureFault::expired_token, "The security token included in the request is expired", {}}));
    }
  }
  auto role = role_of(caller);
  if (!role) return failure(role.error());
  if (wish.service == "sts" && wish.action == "sts:GetCallerIdentity") return {};
  if (!role->empty()) return check_role(caller, *role, wish);
  if (is_for_every_attempt(wish.service) && (!wish.needs || may(Scope::submit, *wish.needs))) return {};
  return std::unexpected(not_authorized(wish.protocol, arn_of(caller), wish, "*",
                                        "its job has no role that allows it; name one with jobRoleArn"));
}

std::expected<void, Fault> Access::check_role(const Caller& caller, const std::string& role, const Wish& wish) const {
  const auto failure = [&](const Error& error) { return std::unexpected(fault_of(wish.protocol, {}, error)); };
  auto stored = Documents(backend_.ledger(), "iam.role").find(role);
  if (!stored) return failure(stored.error());
  const std::string arn = arn_of(caller);
  if (!*stored) {
    return std::unexpected(not_authorized(wish.protocol, arn, wish, "*", concat("the role ", role, " was deleted")));
  }
  auto policies = policies_of(backend_.ledger(), (*stored)->value);
  if (!policies) return failure(policies.error());
  std::vector<const PolicyDocument*> all;
  for (const PolicyDocument& it : *policies) all.push_back(&it);
  AccessRequest request{.action = wish.action,
                        .resource = {},
                        .principal = {.arn = arn,
                                      .role_arn = std::string((*stored)->value.at("Arn").get_string()),
                                      .account = account_.id,
                                      .service = {},
                                      .canonical_user = {}},
                        .context = {{"aws:PrincipalArn", {std::string((*stored)->value.at("Arn").get_string())}},
                                    {"aws:PrincipalAccount", {account_.id}}}};
  for (const std::string& resource : wish.resources) {
    request.resource = resource;
    const Evaluation made = evaluate(all, request);
    if (made.decision == Decision::allowed) continue;
    return std::unexpected(not_authorized(wish.protocol, arn, wish, resource,
                                          made.decision == Decision::explicit_deny
                                              ? concat("an explicit deny in ", made.decided_by->name())
                                              : concat("no policy of the role ", role, " allows it")));
  }
  return {};
}

}  // namespace drover::aws
