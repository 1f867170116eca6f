// EC2, as far as AWS Batch's set-up needs it: a default network, which always exists, and security groups, key pairs,
// images and launch templates, which are stored and described back. No machine is launched from them.
//
// A resource is a document with its tags in it. The document is named by what must be unique, so of two requests that
// create the same thing at the same time one is refused.
#pragma once

#include <boost/json/array.hpp>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "api/aws/account.h"
#include "api/aws/aws_api.h"
#include "api/aws/documents.h"

namespace drover::aws {

class Ec2Api : public AwsApi {
 public:
  Ec2Api(Backend& backend, const Account& account, std::function<std::int64_t()> now_ms);

 protected:
  std::vector<std::string> resources(const Call& call) const override;

 private:
  using Array = boost::json::array;
  using Object = boost::json::object;
  using Tags = std::map<std::string, std::string>;
  template <class T>
  using Found = std::expected<T, Fault>;

  /// One way to name a resource.
  struct Key {
    std::string_view asked;   // the member of a request that lists several: "GroupIds"
    std::string_view member;  // of a resource, and of a request that is about one: "GroupId"
    std::string_view not_found;
  };
  /// A kind of resource.
  struct Kind {
    std::string_view type;    // as tags call it; empty: it has none
    std::string_view prefix;  // of its ids
    std::string_view documents;
    std::string_view list;  // the member of the answer
    Key id;
    Key name;  // without members: it has none
    /// A filter, and the path of the member that it compares; of a list on the path, any element can match.
    std::vector<std::pair<std::string_view, std::string_view>> filters;
    std::int64_t most = 1000;  // in an answer with a NextToken
    /// For a kind of which some resources have no document.
    Found<std::vector<Stored>> (Ec2Api::*load)(const Call& call) const = nullptr;
  };
  static const Kind kImages;
  static const Kind kKeyPairs;
  static const Kind kSecurityGroups;
  static const Kind kSubnets;
  static const Kind kTemplates;
  static const Kind kVpcs;
  static constexpr std::string_view kVpc = "vpc-0d0be700000000001";

  // Reads need Action::read, edits Action::administrate. A dry run ends before the handler is called.
  void on_read(std::string_view operation, Outcome (Ec2Api::*answer)(const Call& call) const);
  void on_edit(std::string_view operation, EditOutcome (Ec2Api::*answer)(const Call& call) const);

  // ec2.cc
  Documents documents(const Kind& kind) const { return {backend().ledger(), std::string(kind.documents)}; }
  Found<std::vector<Stored>> all_of(const Kind& kind, const Call& call) const;
  /// The one with this id or name; null if there is none.
  Found<std::unique_ptr<Stored>> find(const Kind& kind, const Call& call, const Key& key, std::string_view value) const;
  /// The one that the request is about, by its id or its name.
  Found<Stored> chosen(const Kind& kind, const Call& call) const;

  // ec2_describe.cc
  /// Those of the resources that the request asks for, or one page of them.
  static Outcome describe(const Kind& kind, const Call& call, Array all);
  Outcome describe(const Kind& kind, const Call& call) const;

  // ec2_network.cc
  void serve_network();
  Found<Stored> with_kept_tags(Stored resource) const;
  Found<std::vector<Stored>> load_vpcs(const Call& call) const;
  Found<std::vector<Stored>> load_subnets(const Call& call) const;
  Outcome describe_zones(const Call& call) const;
  Outcome describe_vpcs(const Call& call) const { return describe(kVpcs, call); }
  Outcome describe_subnets(const Call& call) const { return describe(kSubnets, call); }

  // ec2_security_groups.cc
  void serve_security_groups();
  Found<std::vector<Stored>> load_security_groups(const Call& call) const;
  /// The rules that a request names, and the groups that they refer to.
  Found<Array> rules_in(const Call& call, std::vector<Stored>& referred) const;
  EditOutcome create_security_group(const Call& call) const;
  EditOutcome delete_security_group(const Call& call) const;
  EditOutcome authorize_ingress(const Call& call) const;
  EditOutcome revoke_ingress(const Call& call) const;
  Outcome describe_security_groups(const Call& call) const;

  // ec2_key_pairs.cc
  void serve_key_pairs();
  Found<Object> new_key_pair(const Call& call) const;
  EditOutcome create_key_pair(const Call& call) const;
  EditOutcome import_key_pair(const Call& call) const;
  EditOutcome delete_key_pair(const Call& call) const;
  Outcome describe_key_pairs(const Call& call) const;

  // ec2_images.cc
  void serve_images();
  EditOutcome create_image(const Call& call) const;
  Outcome describe_images(const Call& call) const;

  // ec2_templates.cc
  void serve_templates();
  EditOutcome create_template(const Call& call) const;
  EditOutcome modify_template(const Call& call) const;
  EditOutcome delete_template(const Call& call) const;
  Outcome describe_templates(const Call& call) const;

  // ec2_template_versions.cc
  void serve_template_versions();
  Documents template_versions() const { return {backend().ledger(), "ec2.launch-template-version"}; }
  Object new_template_version(const Call& call, std::int64_t number) const;
  SetDocuments::Change add_template_version(std::string_view template_id, const Object& version) const;
  /// A version by its number, or $Latest or $Default.
  Found<std::int64_t> version_number(const Stored& of, std::string_view version) const;
  Found<Stored> template_version(const Stored& of, std::int64_t number) const;
  /// The one that the request names, or all of them.
  Found<std::vector<Stored>> templates_asked(const Call& call) const;
  Found<std::set<std::int64_t>> versions_asked(const Stored& of, const Call& call) const;
  EditOutcome create_template_version(const Call& call) const;
  Outcome describe_template_versions(const Call& call) const;

  // ec2_instance_types.cc
  void serve_instance_types();
  Outcome describe_instance_types(const Call& call) const;

  // ec2_tags.cc
  void serve_tags();
  /// The tags that a request gives a new resource.
  static Found<Array> tags_in(const Kind& kind, const Call& call);
  static const std::vector<const Kind*>& tagged_kinds();
  /// Calls `change` with the tags of each resource that the request names.
  EditOutcome change_tags(const Call& call, const std::function<void(Tags&)>& change) const;
  EditOutcome create_tags(const Call& call) const;
  EditOutcome delete_tags(const Call& call) const;
  Outcome describe_tags(const Call& call) const;

  const std::function<std::int64_t()> now_ms_;
};

/// "sg-" and 17 hexadecimal digits: an id that no other resource has.
std::string new_ec2_id(std::string_view prefix);
/// The resource with this text in a member, or null.
Stored* find_by(std::vector<Stored>& all, std::string_view member, std::string_view value);
/// Empty if there is none.
std::string_view member_text(const boost::json::object& object, std::string_view member);

}  // namespace drover::aws
