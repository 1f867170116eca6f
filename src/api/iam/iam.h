// Identity and Access Management: roles and what they may do, policies, and the instance profiles that name a role.
//
// A role is a document with its attached policies and its inline ones; so what it may do changes at once or not at all.
#pragma once

#include "api/aws/account.h"
#include "api/aws/aws_api.h"
#include "api/aws/documents.h"

namespace drover::aws {

class IamApi : public AwsApi {
 public:
  IamApi(Backend& backend, const Account& account, std::function<std::int64_t()> now_ms);

 protected:
  std::vector<std::string> resources(const Call& call) const override;
  std::vector<std::string> passed_roles(const Call& call) const override;

 private:
  using Object = boost::json::object;
  template <class T>
  using Found = std::expected<T, Fault>;

  Documents roles() const { return {backend().ledger(), "iam.role"}; }
  Documents former_roles() const { return {backend().ledger(), std::string(kFormerRoles)}; }
  Documents policies() const { return {backend().ledger(), "iam.policy"}; }
  Documents profiles() const { return {backend().ledger(), "iam.profile"}; }
  Found<Stored> find(const Documents& documents, const char* what, const std::string& name) const;
  Found<Stored> role_of(const Call& call) const;
  Found<Stored> profile_of(const Call& call) const;
  /// What clients see of a role.
  static Object role_json(Object role);
  Found<Object> profile_json(const Stored& profile) const;

  void serve_roles();
  void serve_policies();
  void serve_profiles();

  // iam_roles.cc
  EditOutcome create_role(const Call& call);
  EditOutcome delete_role(const Call& call);
  EditOutcome attach_policy(const Call& call);
  EditOutcome detach_policy(const Call& call);
  EditOutcome put_inline_policy(const Call& call);
  EditOutcome delete_inline_policy(const Call& call);
  Outcome list_roles(const Call& call);
  Outcome list_attached_policies(const Call& call);
  Outcome list_inline_policies(const Call& call);
  Outcome get_inline_policy(const Call& call);

  // iam_policies.cc
  EditOutcome create_policy(const Call& call);
  EditOutcome delete_policy(const Call& call);
  Outcome get_policy(const Call& call);

  // iam_profiles.cc
  EditOutcome create_profile(const Call& call);
  EditOutcome delete_profile(const Call& call);
  EditOutcome add_role_to_profile(const Call& call);
  EditOutcome remove_role_from_profile(const Call& call);
  Outcome get_profile(const Call& call);
  Outcome list_profiles(const Call& call);

  const std::function<std::int64_t()> now_ms_;
};

/// "AROA" and 17 of A-Z2-7: an id that no other resource has.
std::string new_unique_id(std::string_view prefix);
/// A page of a list, with IsTruncated.
Outcome iam_page(const boost::json::object& input, std::string_view member, boost::json::array list);
/// "/" if none was sent.
std::string path_in(const boost::json::object& input);
/// Whether the name and the path of something new are as IAM has them.
std::expected<void, Fault> check_names(const boost::json::object& input, std::string_view name_member);

}  // namespace drover::aws
