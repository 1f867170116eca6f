#include "wire/aws/policy_principals.h"

#include <algorithm>

#include "base/text.h"
#include "wire/aws/policy_values.h"

namespace drover::aws {
namespace {

bool is_account_id(std::string_view text) {
  return text.size() == 12 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// The account of arn:aws:iam::ACCOUNT:root, or nothing.
std::string_view account_of_root(std::string_view arn) {
  constexpr std::string_view kService = ":iam::";
  constexpr std::string_view kRoot = ":root";
  const std::size_t service = arn.find(kService);
  if (service == std::string_view::npos || !arn.ends_with(kRoot)) return {};
  arn.remove_prefix(service + kService.size());
  arn.remove_suffix(std::min(kRoot.size(), arn.size()));
  return is_account_id(arn) ? arn : std::string_view{};
}

Result<void> add_aws_principal(const std::string& text, PrincipalList& list) {
  if (text == "*") {
    list.everyone = PrincipalList::Everyone::yes;
  } else if (is_account_id(text)) {
    list.accounts.push_back(text);
  } else if (!text.starts_with("arn:")) {
    return bad_policy(concat("AWS principal ", quoted_value(text), " is neither an account nor an ARN"),
                      "write twelve digits, the ARN of a user or role, or *");
  } else if (text.find_first_of("*?") != std::string::npos) {
    return bad_policy(concat("AWS principal ", quoted_value(text), " has a wildcard in it"),
                      "name each principal, or use * and a condition on aws:PrincipalArn");
  } else if (const std::string_view account = account_of_root(text); !account.empty()) {
    list.accounts.emplace_back(account);
  } else {
    list.arns.push_back(text);
  }
  return {};
}

Result<void> add_principal(const std::string& type, const std::string& text, PrincipalList& list) {
  if (type == "AWS") return add_aws_principal(text, list);
  if (text.empty() || text.find_first_of("*?") != std::string::npos) {
    return bad_policy(concat(type, " principal ", quoted_value(text), " is empty or has a wildcard in it"),
                      "write its whole name");
  }
  // No caller comes from an identity provider, so federated principals are checked but not recorded.
  if (type == "Service") list.services.push_back(text);
  if (type == "CanonicalUser") list.canonical_users.push_back(text);
  return {};
}

bool is_listed(const std::vector<std::string>& list, const std::string& name) {
  return !name.empty() && std::ranges::find(list, name) != list.end();
}

}  // namespace

Result<PrincipalList> principals_from(std::string_view element, const Node& node) {
  PrincipalList list;
  if (node.kind == Node::Kind::text) {
    if (node.text != "*") {
      return bad_policy(
          concat(element, " is ", quoted_value(node.text)),
          R"(write "*", or an object such as {"AWS": "111122223333"} or {"Service": "s3.amazonaws.com"})");
    }
    list.everyone = PrincipalList::Everyone::yes;
    return list;
  }
  auto read = each_field(element, node, [&](const std::string& type, const Node& value) -> Result<void> {
    if (type != "AWS" && type != "Service" && type != "CanonicalUser" && type != "Federated") {
      return bad_policy(concat(element, " has the unknown type ", quoted_value(type)),
                        "use AWS, Service, CanonicalUser or Federated");
    }
    auto texts = string_or_list(concat(element, " ", quoted_value(type)), value);
    if (!texts) return pass(texts);
    for (const std::string& text : *texts) {
      if (auto added = add_principal(type, text, list); !added) return added;
    }
    return {};
  });
  if (!read) return pass(read);
  if (node.fields.empty()) return bad_policy(concat(element, " is empty"), R"(name a principal, or write "*")");
  return list;
}

Named named_in(const PrincipalList& list, const Principal& caller) {
  if (list.everyone == PrincipalList::Everyone::yes || is_listed(list.arns, caller.arn) ||
      is_listed(list.arns, caller.role_arn) || is_listed(list.services, caller.service) ||
      is_listed(list.canonical_users, caller.canonical_user)) {
    return Named::itself;
  }
  if (!is_listed(list.accounts, caller.account)) return Named::no;
  return account_of_root(caller.arn) == caller.account ? Named::itself : Named::by_account;
}

}  // namespace drover::aws
