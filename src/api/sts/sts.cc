#include "api/sts/sts.h"

#include <algorithm>
#include <cctype>

#include "api/aws/documents.h"
#include "wire/aws/policy_evaluation.h"

extern "C" const char drover_sts_operations_begin[];
extern "C" const char drover_sts_operations_end[];

namespace drover::aws {
namespace {

namespace json = boost::json;

std::string text_of(const json::object& object, std::string_view member) {
  const json::value* it = object.if_contains(member);
  return it == nullptr ? std::string() : std::string(it->get_string());
}

std::int64_t number_of(const json::object& object, std::string_view member, std::int64_t otherwise) {
  const json::value* it = object.if_contains(member);
  return it == nullptr ? otherwise : it->get_int64();
}

}  // namespace

StsApi::StsApi(Backend& backend, const Account& account, const KeyRing& keys, std::function<std::int64_t()> now_ms)
    : AwsApi(backend, account,
             {.service = "sts",
              .protocol = Protocol::query,
              .bad_input = "ValidationError",
              .xml_namespace = "https://sts.amazonaws.com/doc/2011-06-15/"},
             {drover_sts_operations_begin, drover_sts_operations_end}),
      keys_(keys),
      now_ms_(std::move(now_ms)) {
  on_read("GetCallerIdentity", std::nullopt, [this](const Call& call) { return get_caller_identity(call); });
  on_read("GetSessionToken", std::nullopt, [this](const Call& call) { return get_session_token(call); });
  on_read("AssumeRole", std::nullopt, [this](const Call& call) { return assume_role(call); });
}

std::vector<std::string> StsApi::resources(const Call& call) const {
  const std::string role = text_of(call.input, "RoleArn");
  return {role.empty() ? "*" : role};
}

Outcome StsApi::get_caller_identity(const Call& call) const {
  const Caller& caller = call.asker.caller;
  std::string id = caller.key_id;
  if (caller.job) id += ":" + caller.job->text();
  if (!caller.role.empty()) id += ":" + caller.session;
  return json::object{{"UserId", id}, {"Account", account().id}, {"Arn", access().arn_of(caller)}};
}

json::object StsApi::new_session(AwsSession session, std::int64_t seconds) const {
  session.expires_ms = now_ms_() + seconds * 1000;
  const SessionCredentials made = keys_.new_session(session);
  return {{"AccessKeyId", made.key_id},
          {"SecretAccessKey", made.secret},
          {"SessionToken", made.session_token},
          {"Expiration", session.expires_ms}};
}

Outcome StsApi::get_session_token(const Call& call) const {
  constexpr std::int64_t kUsualSeconds = 43'200;
  // Else one that is about to expire could be renewed for ever.
  if (call.asker.caller.is_temporary) {
    return failed("AccessDenied", "Cannot call GetSessionToken with session credentials", 403);
  }
  if (auto good = check_giver(call); !good) return std::unexpected(std::move(good.error()));
  if (call.input.contains("TokenCode")) return failed("ValidationError", "TokenCode: there are no MFA devices here");
  return json::object{{"Credentials", new_session({.giver = call.asker.caller.key_id},
                                                  number_of(call.input, "DurationSeconds", kUsualSeconds))}};
}

// A worker names itself when it joins, and works with its key alone.
std::expected<void, Fault> StsApi::check_giver(const Call& call) {
  const Caller& caller = call.asker.caller;
  if (caller.has_session() || caller.scope != Scope::worker) return {};
  return failed("AccessDenied", concat("a worker's key is not authorized to perform: sts:", call.operation->name), 403);
}

// As AWS has it: the role must trust the caller. Where it only trusts the account, the caller must be allowed to assume
// it as well: an admin, or one whose role's policies say so (which were asked before).
std::expected<void, Fault> StsApi::check_trust(const Call& call, const json::object& role) const {
  const Caller& caller = call.asker.caller;
  const std::string arn = access().arn_of(caller);
  const auto denied = [&] {
    return failed("AccessDenied",
                  concat("User: ", arn, " is not authorized to perform: sts:AssumeRole on resource: ",
                         text_of(role, "Arn"), "; the role's trust policy must name the caller"),
                  403);
  };
  auto trust = policy_from_json(text_of(role, "AssumeRolePolicyDocument"), PolicyKind::trust);
  if (!trust) return std::unexpected(fault(trust.error()));
  AccessRequest request{.action = "sts:AssumeRole", .resource = {}, .principal = {}, .context = {}};
  request.principal.arn = arn;
  request.principal.account = account().id;
  auto role_arn = access().role_arn_of(caller);
  if (!role_arn) return std::unexpected(fault(role_arn.error()));
  request.principal.role_arn = std::move(*role_arn);
  if (const std::string id = text_of(call.input, "ExternalId"); !id.empty()) request.context["sts:ExternalId"] = {id};
  const Evaluation made = evaluate({&*trust}, request);
  if (made.decision != Decision::allowed) return denied();
  if (made.named == Named::by_account && !caller.has_session() && !caller.may(Action::administrate)) return denied();
  return {};
}

Outcome StsApi::assume_role(const Call& call) const {
  if (auto good = check_giver(call); !good) return std::unexpected(std::move(good.error()));
  for (const char* member : {"Policy", "PolicyArns", "TokenCode"}) {
    if (call.input.contains(member)) return failed("ValidationError", concat(member, " is not supported"));
  }
  const std::string name = text_of(call.input, "RoleSessionName");
  constexpr std::string_view kSigns = "_+=,.@-";
  if (!std::ranges::all_of(
          name, [&](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || kSigns.contains(c); })) {
    return failed("ValidationError", "RoleSessionName must have letters, digits and _+=,.@- only");
  }
  const std::string arn = text_of(call.input, "RoleArn");
  auto role = Documents(backend().ledger(), "iam.role").find(role_name_in(arn));
  if (!role) return std::unexpected(fault(role.error()));
  // One that is not there reads like one that may not be assumed.
  if (!*role || text_of((*role)->value, "Arn") != arn) {
    return failed("AccessDenied",
                  concat("User: ", access().arn_of(call.asker.caller),
                         " is not authorized to perform: sts:AssumeRole on resource: ", arn),
                  403);
  }
  if (auto trusted = check_trust(call, (*role)->value); !trusted) return std::unexpected(std::move(trusted.error()));
  constexpr std::int64_t kUsualSeconds = 3600;
  const std::int64_t seconds = number_of(call.input, "DurationSeconds", kUsualSeconds);
  if (seconds > number_of((*role)->value, "MaxSessionDuration", kUsualSeconds)) {
    return failed("ValidationError", "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.");
  }
  const std::string assumed = account().arn("sts", "", concat("assumed-role/", (*role)->name, "/", name));
  return json::object{
      {"Credentials", new_session({.giver = call.asker.caller.key_id,
                                   .role = (*role)->name,
                                   .role_id = text_of((*role)->value, "RoleId"),
                                   .name = name,
                                   .job = call.asker.caller.job,
                                   .attempt = call.asker.caller.attempt},
                                  seconds)},
      {"AssumedRoleUser",
       json::object{{"AssumedRoleId", concat(text_of((*role)->value, "RoleId"), ":", name)}, {"Arn", assumed}}}};
}

}  // namespace drover::aws
