// Tables of policies, requests and decisions.
#pragma once

#include <gtest/gtest.h>

#include "base/text.h"
#include "wire/aws/policy_evaluation.h"

namespace drover::aws {

inline const Principal kAnn{.arn = "arn:aws:iam::111122223333:user/ann", .account = "111122223333"};

struct PolicyCase {
  const char* says;
  std::string statements;  // separated by commas
  AccessRequest request;
  Decision decision;
};

inline AccessRequest request_of(std::string action, std::string resource, RequestContext context = {}) {
  return {std::move(action), std::move(resource), kAnn, std::move(context)};
}

inline AccessRequest request_by(Principal principal, RequestContext context = {}) {
  return {"sqs:SendMessage", "arn:aws:sqs:eu-west-1:111122223333:jobs", std::move(principal), std::move(context)};
}

inline std::string document_of(std::string_view statements, std::string_view version = "2012-10-17") {
  return concat(R"({"Version":")", version, R"(","Statement":[)", statements, "]}");
}

inline PolicyDocument policy_of(std::string_view text, PolicyKind kind = PolicyKind::identity) {
  auto document = policy_from_json(text, kind);
  EXPECT_TRUE(document) << document.error().message << "\n" << text;
  return document.value_or(PolicyDocument{});
}

inline void expect_decisions(PolicyKind kind, const std::vector<PolicyCase>& cases) {
  for (const PolicyCase& one : cases) {
    const PolicyDocument policy = policy_of(document_of(one.statements), kind);
    EXPECT_EQ(to_string(evaluate({&policy}, one.request).decision), to_string(one.decision)) << one.says;
  }
}

}  // namespace drover::aws
