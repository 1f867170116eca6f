#include "wire/aws/policy.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "wire/aws/policy_values.h"

namespace drover::aws {
namespace {

constexpr std::string_view kNewVersion = "2012-10-17";
constexpr std::string_view kOldVersion = "2008-10-17";

Result<std::string> string_element(std::string_view element, const Node& node) {
  if (node.kind == Node::Kind::text) return node.text;
  return bad_policy(concat(element, " is not a string"), "write it as a string");
}

Result<StatementEffect> effect_from(const Node& node) {
  if (node.kind == Node::Kind::text && node.text == "Allow") return StatementEffect::allow;
  if (node.kind == Node::Kind::text && node.text == "Deny") return StatementEffect::deny;
  return bad_policy(node.kind == Node::Kind::text ? concat("Effect is ", quoted_value(node.text))
                                                  : std::string("Effect is not a string"),
                    "write Allow or Deny");
}

bool is_action(std::string_view text) {
  if (text == "*") return true;
  const auto is_letter_or_digit = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) return false;
  return std::ranges::all_of(text.substr(0, colon), is_letter_or_digit) &&
         std::ranges::all_of(text.substr(colon + 1),
                             [&](char c) { return is_letter_or_digit(c) || c == '*' || c == '?' || c == '_'; });
}

Result<PatternList> actions_from(const std::string& element, const Node& node) {
  auto texts = string_or_list(element, node);
  if (!texts) return pass(texts);
  PatternList list{element == "NotAction" ? Listing::all_but_these : Listing::only_these, {}};
  for (const std::string& text : *texts) {
    if (!is_action(text)) {
      return bad_policy(concat(element, " ", quoted_value(text), " is not a service and an action"),
                        "write it as s3:GetObject, s3:Get* or *");
    }
    list.patterns.emplace_back(text, Wildcards::expanded, Variables::literal);
  }
  return list;
}

Result<PatternList> resources_from(const std::string& element, const Node& node, Variables variables) {
  auto texts = string_or_list(element, node);
  if (!texts) return pass(texts);
  PatternList list{element == "NotResource" ? Listing::all_but_these : Listing::only_these, {}};
  for (const std::string& text : *texts) {
    if (text != "*" && !text.starts_with("arn:")) {
      return bad_policy(concat(element, " ", quoted_value(text), " is not an ARN"),
                        "write an ARN, such as arn:aws:s3:::bucket/*, or *");
    }
    list.patterns.emplace_back(text, Wildcards::expanded, variables);
  }
  return list;
}

/// Which elements a statement has, for what must and must not be there.
class StatementElements {
 public:
  void add(const std::string& name) { names_.insert(name); }

  Result<void> check(PolicyKind kind) const {
    for (const char* name : {"Action", "Resource", "Principal"}) {
      if (!has(name) || !has(concat("Not", name))) continue;
      return bad_policy(concat("it has both ", name, " and Not", name), "keep one");
    }
    if (!has("Effect")) return bad_policy("Effect is missing", "add Allow or Deny");
    if (!has_either("Action")) return bad_policy("Action is missing", "add Action or NotAction");
    switch (kind) {
      case PolicyKind::identity:
        if (has_either("Principal")) {
          return bad_policy("Principal is not allowed in a policy of a user or role", "remove it");
        }
        break;
      case PolicyKind::trust:
        if (has_either("Resource")) {
          return bad_policy("Resource is not allowed in a trust policy: it is the role itself", "remove it");
        }
        if (has("NotPrincipal")) {
          return bad_policy("NotPrincipal is not allowed in a trust policy",
                            "name who may assume the role in Principal");
        }
        [[fallthrough]];
      case PolicyKind::resource:
        if (!has_either("Principal")) {
          return bad_policy("Principal is missing", R"(add who the statement is about, or "*" for everyone)");
        }
        break;
    }
    if (kind != PolicyKind::trust && !has_either("Resource")) {
      return bad_policy("Resource is missing", R"(add Resource or NotResource; "*" is every resource)");
    }
    return {};
  }

 private:
  bool has(const std::string& name) const { return names_.contains(name); }
  bool has_either(const char* name) const { return has(name) || has(concat("Not", name)); }

  std::set<std::string> names_;
};

template <class T, class Into>
Result<void> keep(Result<T> read, Into& into) {
  if (!read) return pass(read);
  into = std::move(*read);
  return {};
}

Result<PolicyStatement> statement_from(const Node& node, PolicyKind kind, Variables variables) {
  PolicyStatement statement;
  StatementElements elements;
  auto read = each_field("the statement", node, [&](const std::string& name, const Node& value) -> Result<void> {
    elements.add(name);
    if (name == "Sid") return keep(string_element(name, value), statement.sid);
    if (name == "Effect") return keep(effect_from(value), statement.effect);
    if (name == "Action" || name == "NotAction") return keep(actions_from(name, value), statement.actions);
    if (name == "Resource" || name == "NotResource") {
      return keep(resources_from(name, value, variables), statement.resources);
    }
    if (name == "Principal" || name == "NotPrincipal") {
      if (name == "NotPrincipal") statement.principal_listing = Listing::all_but_these;
      return keep(principals_from(name, value), statement.principals);
    }
    if (name == "Condition") return keep(conditions_from(value, variables), statement.conditions);
    return bad_policy(
        concat("element ", quoted_value(name), " is unknown"),
        "use Sid, Effect, Action, NotAction, Resource, NotResource, Principal, NotPrincipal or Condition");
  });
  if (!read) return pass(read);
  if (auto checked = elements.check(kind); !checked) return pass(checked);
  return statement;
}

/// Only documents of the newer version have variables, and one that does not say is of the older.
Result<Variables> variables_of(const Node* version) {
  if (version == nullptr) return Variables::literal;
  if (version->kind == Node::Kind::text && version->text == kNewVersion) return Variables::substituted;
  if (version->kind == Node::Kind::text && version->text == kOldVersion) return Variables::literal;
  return bad_policy(version->kind == Node::Kind::text ? concat("Version is ", quoted_value(version->text))
                                                      : std::string("Version is not a string"),
                    concat("write \"", kNewVersion, "\""));
}

Result<std::vector<PolicyStatement>> statements_from(const Node& node, PolicyKind kind, Variables variables) {
  std::vector<const Node*> nodes;
  if (node.kind == Node::Kind::list) {
    for (const Node& item : node.items) nodes.push_back(&item);
  } else {
    nodes.push_back(&node);
  }
  if (nodes.empty()) return bad_policy("Statement is an empty list", "add a statement");
  if (nodes.size() > kMostStatements) {
    return bad_policy(concat("Statement has ", nodes.size(), " statements"),
                      concat("the limit is ", kMostStatements, "; combine statements that differ in one element"));
  }
  std::vector<PolicyStatement> statements;
  std::set<std::string> sids;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto statement = statement_from(*nodes[i], kind, variables);
    if (!statement) {
      return bad_policy(concat("statement ", i + 1, ": ", statement.error().message), statement.error().next);
    }
    if (!statement->sid.empty() && !sids.insert(statement->sid).second) {
      return bad_policy(concat("statement ", i + 1, ": Sid ", quoted_value(statement->sid), " is used twice"),
                        "make each Sid unique in the document");
    }
    statements.push_back(std::move(*statement));
  }
  return statements;
}

Result<PolicyDocument> document_from(const Node& node, PolicyKind kind) {
  PolicyDocument document;
  const Node* statement = nullptr;
  const Node* version = nullptr;
  auto read = each_field("the document", node, [&](const std::string& name, const Node& value) -> Result<void> {
    if (name == "Id") return keep(string_element(name, value), document.id);
    if (name == "Version") {
      version = &value;
    } else if (name == "Statement") {
      statement = &value;
    } else {
      return bad_policy(concat("element ", quoted_value(name), " is unknown"), "use Version, Id and Statement");
    }
    return {};
  });
  if (!read) return pass(read);
  if (statement == nullptr) return bad_policy("Statement is missing", "add at least one statement");
  auto variables = variables_of(version);
  if (!variables) return pass(variables);
  if (auto kept = keep(statements_from(*statement, kind, *variables), document.statements); !kept) return pass(kept);
  return document;
}

}  // namespace

Result<PolicyDocument> policy_from_json(std::string_view text, PolicyKind kind) {
  if (text.size() > kMostPolicyBytes) {
    return bad_policy(concat("policy document: it has ", text.size(), " bytes"),
                      concat("the limit is ", kMostPolicyBytes, "; use wildcards, or more than one policy"));
  }
  const auto node = node_from_json(text);
  if (!node) return bad_policy(concat("policy document: not valid JSON: ", node.error().message), "check its syntax");
  auto document = document_from(*node, kind);
  if (!document) return bad_policy("policy document: " + document.error().message, document.error().next);
  return document;
}

std::vector<std::string> unsupported_operators(const PolicyDocument& document) {
  std::set<std::string> names;
  for (const PolicyStatement& statement : document.statements) {
    for (const Condition& condition : statement.conditions) {
      if (condition.test == nullptr) names.insert(condition.operator_name);
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace drover::aws
