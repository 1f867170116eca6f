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
constexpr std::size_t kLongestArn = 2048;

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

RequestContext context_of(const std::string& principal_arn, const Account& account, const Wish& wish) {
  RequestContext out = wish.conditions;
  out["aws:PrincipalArn"] = {principal_arn};
  out["aws:PrincipalAccount"] = {account.id};
  out["aws:SecureTransport"] = {wish.is_encrypted ? "true" : "false"};
  return out;
}

std::string denied_by(const Evaluation& made) {
  return concat("an explicit deny in ", made.decided_by ? made.decided_by->name() : "a policy");
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

Result<std::string> Access::arn_of_role(const std::string& name_or_arn) const {
  if (name_or_arn.starts_with("arn:")) return name_or_arn;
  auto known = Documents(backend_.ledger(), "iam.role").find(name_or_arn);
  if (!known) return pass(known);
  if (!*known) return account_.arn("iam", "", concat("role/", name_or_arn));
  return std::string((*known)->value.at("Arn").get_string());
}

Result<std::string> Access::role_arn_of(const Caller& caller) const {
  auto role = role_of(caller);
  if (!role || role->empty()) return role;
  return arn_of_role(*role);
}

Result<JobView> Access::job_of(const Uuid& uuid) const {
  auto job = backend_.find_job(uuid.text());
  // A job may be named like the id of another.
  if (job && job->job.uuid != uuid) return fail(ErrorCode::not_found, concat("job ", uuid.text(), " not found"));
  return job;
}

Result<std::string> Access::role_of(const Caller& caller) const {
  if (!caller.job || !caller.role.empty()) return caller.role;
  auto job = job_of(*caller.job);
  if (!job) return pass(job);
  auto text = backend_.definition(job->job.definition);
  if (!text) return pass(text);
  auto definition = definition_from_json(*text);
  if (!definition) return pass(definition);
  if (definition->role.empty()) return std::string();
  std::string name = role_name_in(definition->role);
  auto known = Documents(backend_.ledger(), "iam.role").find(name);
  if (!known) return pass(known);
  // One of another account, or on another path, is another role.
  const auto is_it = [&](const Stored& role) {
    return !definition->role.starts_with("arn:") || role.value.at("Arn").get_string() == definition->role;
  };
  if (*known) return is_it(**known) ? std::move(name) : std::string();
  // Of one that was deleted nothing is left, not even what those may do who have none.
  auto former = Documents(backend_.ledger(), std::string(kFormerRoles)).find(name);
  if (!former) return pass(former);
  return *former && is_it(**former) ? std::move(name) : std::string();
}

Result<bool> Access::is_running(const Uuid& of, const Token& attempt) const {
  auto job = job_of(of);
  if (!job) return job.error().code == ErrorCode::not_found ? Result<bool>(false) : pass(job);
  return is_in_hands(backend_.ledger(), job->job, attempt);
}

// Whoever is not denied here has been, or will be, let in for other reasons.
std::expected<void, Fault> Access::check_denied(const Caller& caller, const Wish& wish) const {
  if (wish.resource_policy == nullptr) return {};
  const std::string arn = arn_of(caller);
  AccessRequest request{.action = wish.action,
                        .resource = {},
                        .principal = {.arn = arn, .role_arn = {}, .account = account_.id, .service = {}},
                        .context = context_of(arn, account_, wish)};
  for (const std::string& resource : wish.resources) {
    request.resource = resource;
    const Evaluation made = evaluate({wish.resource_policy}, request);
    if (made.decision != Decision::explicit_deny) continue;
    return std::unexpected(not_authorized(wish.protocol, arn, wish, resource, denied_by(made)));
  }
  return {};
}

std::expected<void, Fault> Access::check(const Caller& caller, const Wish& wish) const {
  const auto failure = [&](const Error& error) { return std::unexpected(fault_of(wish.protocol, {}, error)); };
  if (!caller.has_session()) return check_denied(caller, wish);
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
  if (is_for_every_attempt(wish.service) && (!wish.needs || may(Scope::submit, *wish.needs))) {
    return check_denied(caller, wish);
  }
  return std::unexpected(not_authorized(wish.protocol, arn_of(caller), wish, "*",
                                        "its job has no role that allows it; name one with jobRoleArn"));
}

std::expected<void, Fault> Access::check_role(const Caller& caller, const std::string& role, const Wish& wish) const {
  const auto failure = [&](const Error& error) { return std::unexpected(fault_of(wish.protocol, {}, error)); };
  auto stored = Documents(backend_.ledger(), "iam.role").find(role);
  if (!stored) return failure(stored.error());
  const std::string arn = arn_of(caller);
  const bool is_there =
      *stored && (caller.role_id.empty() || (*stored)->value.at("RoleId").get_string() == caller.role_id);
  if (!is_there) {
    return std::unexpected(not_authorized(wish.protocol, arn, wish, "*", concat("the role ", role, " was deleted")));
  }
  auto policies = policies_of(backend_.ledger(), (*stored)->value);
  if (!policies) return failure(policies.error());
  std::vector<const PolicyDocument*> all;
  for (const PolicyDocument& it : *policies) all.push_back(&it);
  const std::string role_arn((*stored)->value.at("Arn").get_string());
  AccessRequest request{
      .action = wish.action,
      .resource = {},
      .principal = {.arn = arn, .role_arn = role_arn, .account = account_.id, .service = {}, .canonical_user = {}},
      .context = context_of(role_arn, account_, wish)};
  for (const std::string& passed : wish.passed_roles) {
    auto passed_arn = arn_of_role(passed);
    if (!passed_arn) return failure(passed_arn.error());
    AccessRequest passing = request;
    passing.action = "iam:PassRole";
    passing.resource = *passed_arn;
    const Evaluation made = evaluate(all, passing);
    if (made.decision != Decision::explicit_deny) continue;
    Wish pass_it = wish;
    pass_it.action = passing.action;
    return std::unexpected(not_authorized(wish.protocol, arn, pass_it, *passed_arn, denied_by(made)));
  }
  if (wish.resource_policy != nullptr) all.push_back(wish.resource_policy);
  for (const std::string& resource : wish.resources) {
    if (resource.size() > kLongestArn) {
      return std::unexpected(not_authorized(wish.protocol, arn, wish, "*", "no ARN is that long"));
    }
    request.resource = resource;
    const Evaluation made = evaluate(all, request);
    // Where a resource's policy names no more than the account, the role must allow it too.
    if (made.decision == Decision::allowed && made.named == Named::itself) continue;
    return std::unexpected(not_authorized(wish.protocol, arn, wish, resource,
                                          made.decision == Decision::explicit_deny
                                              ? denied_by(made)
                                              : concat("no policy of the role ", role, " allows it")));
  }
  return {};
}

}  // namespace drover::aws
