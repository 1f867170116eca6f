#include "wire/aws/policy.h"

#include "wire/aws/policy_fixture.h"

namespace drover::aws {
namespace {

/// "message; next", or "accepted".
std::string refusal(std::string_view text, PolicyKind kind = PolicyKind::identity) {
  const auto document = policy_from_json(text, kind);
  return document ? "accepted" : concat(document.error().message, "; ", document.error().next);
}

/// Of a document with this one statement, from where the statement begins.
std::string statement_refusal(std::string_view statement, PolicyKind kind = PolicyKind::identity) {
  std::string said = refusal(document_of(statement), kind);
  const std::string_view before = "policy document: statement 1: ";
  return said.starts_with(before) ? said.substr(before.size()) : said;
}

TEST(PolicyDocument, IsReadInItsManyForms) {
  for (
      const char* text : {
          R"({"Statement":{"Effect":"Allow","Action":"*","Resource":"*"}})",
          R"({"Version":"2008-10-17","Id":"x","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]})",
          R"({"Version":"2012-10-17","Statement":{"Sid":"","Effect":"Deny","NotAction":["s3:*","sqs:*"],"NotResource":["*"]}})",
          R"({"Statement":{"Sid":"a","Effect":"Allow","Action":"s3-object-lambda:Get*","Resource":"arn:aws:s3:::b","Condition":{}}})",
          R"( {"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"},{"Sid":"b","Effect":"Deny","Action":"s3:?et","Resource":"*"}]} )",
      }) {
    EXPECT_EQ(refusal(text), "accepted") << text;
  }
  const PolicyDocument read =
      policy_of(R"({"Id":"mine","Statement":[{"Sid":"one","Effect":"Deny","NotAction":"s3:*","Resource":"*"}]})");
  EXPECT_EQ(read.id, "mine");
  ASSERT_EQ(read.statements.size(), 1U);
  EXPECT_EQ(read.statements[0].sid, "one");
  EXPECT_EQ(read.statements[0].effect, StatementEffect::deny);
  EXPECT_EQ(read.statements[0].actions.listing, Listing::all_but_these);
  EXPECT_FALSE(read.statements[0].principals);
}

TEST(PolicyDocument, RefusesWhatIsNotADocument) {
  EXPECT_TRUE(refusal("").starts_with("policy document: not valid JSON: "));
  EXPECT_TRUE(refusal("{").starts_with("policy document: not valid JSON: "));
  EXPECT_TRUE(refusal(std::string(100, '[')).starts_with("policy document: not valid JSON: "));
  EXPECT_EQ(refusal("[]"), "policy document: the document is not a JSON object; write it as {...}");
  EXPECT_EQ(refusal("{}"), "policy document: Statement is missing; add at least one statement");
  EXPECT_EQ(refusal(R"({"Statement":[]})"), "policy document: Statement is an empty list; add a statement");
  EXPECT_EQ(refusal(R"({"Statement":"x"})"),
            "policy document: statement 1: the statement is not a JSON object; write it as {...}");
  EXPECT_EQ(refusal(R"({"Version":"2020-01-01","Statement":[]})"),
            R"(policy document: Version is '2020-01-01'; write "2012-10-17")");
  EXPECT_EQ(refusal(R"({"Version":2012,"Statement":[]})"),
            R"(policy document: Version is not a string; write "2012-10-17")");
  EXPECT_EQ(refusal(R"({"Id":[],"Statement":[]})"), "policy document: Id is not a string; write it as a string");
  EXPECT_EQ(refusal(R"({"Statements":[]})"),
            "policy document: element 'Statements' is unknown; use Version, Id and Statement");
  EXPECT_EQ(refusal(R"({"Id":"a","Id":"b","Statement":[]})"), "policy document: the document has 'Id' twice; keep one");
}

TEST(PolicyDocument, RefusesWhatIsTooLarge) {
  const std::string statement = R"({"Effect":"Allow","Action":"*","Resource":"*"})";
  EXPECT_EQ(refusal(std::string(20'481, ' ')),
            "policy document: it has 20481 bytes; the limit is 20480; use wildcards, or more than one policy");
  std::string many = statement;
  for (int i = 0; i < 200; ++i) many += "," + statement;
  EXPECT_EQ(
      refusal(document_of(many)),
      "policy document: Statement has 201 statements; the limit is 200; combine statements that differ in one element");
  std::string actions = R"("a:b")";
  for (int i = 0; i < 1000; ++i) actions += R"(,"a:b")";
  EXPECT_EQ(statement_refusal(concat(R"({"Effect":"Allow","Resource":"*","Action":[)", actions, "]}")),
            "Action has 1001 values; the limit is 1000; use wildcards or another statement");
  EXPECT_EQ(statement_refusal(concat(R"({"Effect":"Allow","Action":"*","Resource":")", std::string(200, 'x'), R"("})")),
            concat("Resource '", std::string(100, 'x'),
                   "...' is not an ARN; write an ARN, such as arn:aws:s3:::bucket/*, or *"));
}

TEST(PolicyDocument, NamesTheStatementAndTheElement) {
  EXPECT_EQ(refusal(document_of(R"({"Effect":"Allow","Action":"*","Resource":"*"},{"Action":"*","Resource":"*"})")),
            "policy document: statement 2: Effect is missing; add Allow or Deny");
  EXPECT_EQ(
      refusal(document_of(
          R"({"Sid":"a","Effect":"Allow","Action":"*","Resource":"*"},{"Sid":"a","Effect":"Deny","Action":"*","Resource":"*"})")),
      "policy document: statement 2: Sid 'a' is used twice; make each Sid unique in the document");
  EXPECT_EQ(statement_refusal(R"({"Effect":"allow","Action":"*","Resource":"*"})"),
            "Effect is 'allow'; write Allow or Deny");
  EXPECT_EQ(statement_refusal(R"({"Effect":true,"Action":"*","Resource":"*"})"),
            "Effect is not a string; write Allow or Deny");
  EXPECT_EQ(statement_refusal(R"({"Sid":1})"), "Sid is not a string; write it as a string");
  EXPECT_EQ(statement_refusal(R"({"Effect":"Allow","Resource":"*"})"), "Action is missing; add Action or NotAction");
  EXPECT_EQ(statement_refusal(R"({"Effect":"Allow","Action":"*"})"),
            R"(Resource is missing; add Resource or NotResource; "*" is every resource)");
  EXPECT_EQ(statement_refusal(R"({"Effect":"Allow","Action":"*","NotAction":"*","Resource":"*"})"),
            "it has both Action and NotAction; keep one");
  EXPECT_EQ(statement_refusal(R"({"Effect":"Allow","Action":[],"Resource":"*"})"),
            "Action is an empty list; name at least one value");
  EXPECT_EQ(statement_refusal(R"({"Effect":"Allow","Action":{"a":"b"},"Resource":"*"})"),
            "Action is neither a string nor a list of strings; write it as a string");
  EXPECT_EQ(statement_refusal(R"({"Effect":"Allow","Action":"*","Resource":["*",1]})"),
            "Resource is neither a string nor a list of strings; write it as a string");
  EXPECT_TRUE(statement_refusal(R"({"Effekt":"Allow"})").starts_with("element 'Effekt' is unknown; use Sid, Effect,"));
}

TEST(PolicyDocument, ChecksActions) {
  for (const char* action : {"GetObject", ":GetObject", "s3:", "s3:Get Object", "s*:Get", "s3:Get:Object", "", "**"}) {
    EXPECT_EQ(statement_refusal(concat(R"({"Effect":"Allow","Resource":"*","Action":")", action, R"("})")),
              concat("Action '", action, "' is not a service and an action; write it as s3:GetObject, s3:Get* or *"));
  }
}

TEST(PolicyDocument, HasTheElementsOfItsKind) {
  const char* plain = R"({"Effect":"Allow","Action":"*","Resource":"*"})";
  const char* principal = R"({"Effect":"Allow","Action":"*","Resource":"*","Principal":"*"})";
  const char* trust = R"({"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":"ec2.amazonaws.com"}})";
  EXPECT_EQ(statement_refusal(plain), "accepted");
  EXPECT_EQ(statement_refusal(principal), "Principal is not allowed in a policy of a user or role; remove it");
  EXPECT_EQ(statement_refusal(principal, PolicyKind::resource), "accepted");
  EXPECT_EQ(statement_refusal(plain, PolicyKind::resource),
            R"(Principal is missing; add who the statement is about, or "*" for everyone)");
  EXPECT_TRUE(statement_refusal(trust, PolicyKind::resource).starts_with("Resource is missing"));
  EXPECT_EQ(statement_refusal(trust, PolicyKind::trust), "accepted");
  EXPECT_EQ(statement_refusal(principal, PolicyKind::trust),
            "Resource is not allowed in a trust policy: it is the role itself; remove it");
  EXPECT_EQ(statement_refusal(R"({"Effect":"Allow","Action":"sts:AssumeRole","NotPrincipal":"*"})", PolicyKind::trust),
            "NotPrincipal is not allowed in a trust policy; name who may assume the role in Principal");
}

TEST(PolicyDocument, ChecksPrincipals) {
  const auto said = [](std::string_view principal) {
    return statement_refusal(concat(R"({"Effect":"Allow","Action":"*","Resource":"*","Principal":)", principal, "}"),
                             PolicyKind::resource);
  };
  EXPECT_EQ(
      said(
          R"({"AWS":["*","111122223333","arn:aws:iam::1:user/a"],"Service":"a.b","CanonicalUser":"c","Federated":"d"})"),
      "accepted");
  EXPECT_TRUE(said(R"("ann")").starts_with(R"(Principal is 'ann'; write "*", or an object)"));
  EXPECT_EQ(said("[]"), "Principal is not a JSON object; write it as {...}");
  EXPECT_EQ(said("{}"), R"(Principal is empty; name a principal, or write "*")");
  EXPECT_EQ(said(R"({"Aws":"*"})"),
            "Principal has the unknown type 'Aws'; use AWS, Service, CanonicalUser or Federated");
  EXPECT_EQ(
      said(R"({"AWS":"ann"})"),
      "AWS principal 'ann' is neither an account nor an ARN; write twelve digits, the ARN of a user or role, or *");
  EXPECT_EQ(
      said(R"({"AWS":"arn:aws:iam::111122223333:user/*"})"),
      "AWS principal 'arn:aws:iam::111122223333:user/*' has a wildcard in it; name each principal, or use * and a "
      "condition on aws:PrincipalArn");
  EXPECT_EQ(said(R"({"Service":"*"})"), "Service principal '*' is empty or has a wildcard in it; write its whole name");
  EXPECT_EQ(said(R"({"AWS":[]})"), "Principal 'AWS' is an empty list; name at least one value");
}

TEST(PolicyDocument, ChecksConditions) {
  const auto said = [](std::string_view condition) {
    return statement_refusal(concat(R"({"Effect":"Allow","Action":"*","Resource":"*","Condition":)", condition, "}"));
  };
  EXPECT_EQ(said(R"({"NumericLessThan":{"s3:max-keys":10}})"), "accepted");
  EXPECT_EQ(said(R"({"ForAnyValue:StringLike":{"aws:TagKeys":"a"}})"),
            "condition operator 'ForAnyValue:StringLike' compares sets of values, which is not supported; use the "
            "operator without its prefix, on a key that has one value");
  EXPECT_TRUE(said(R"({"ForAllValues:StringEquals":{"aws:TagKeys":"a"}})")
                  .starts_with("condition operator 'ForAllValues:StringEquals' compares sets of values"));
  EXPECT_EQ(said("[]"), "Condition is not a JSON object; write it as {...}");
  EXPECT_EQ(said(R"({"StringLike":"a"})"), "Condition 'StringLike' is not a JSON object; write it as {...}");
  EXPECT_EQ(said(R"({"StringLike":{"a:b":{}}})"),
            "Condition 'StringLike', key 'a:b' is neither a string nor a list of strings; write it as a string");
  EXPECT_EQ(said(R"({"StringLike":{"a:b":[]}})"),
            "Condition 'StringLike', key 'a:b' is an empty list; name at least one value");
  EXPECT_EQ(said(R"({"StringLike":{"":"x"}})"),
            "Condition 'StringLike', key '': the key is empty; name a condition key, such as aws:SourceArn");
  EXPECT_EQ(said(R"({"StringLike":{"a:b":"x","a:b":"y"}})"), "Condition 'StringLike' has 'a:b' twice; keep one");
  EXPECT_EQ(
      said(R"({"Null":{"a:b":"maybe"}})"),
      "Condition 'Null', key 'a:b' has the value 'maybe'; write true if the key must be absent, or false if it must be "
      "present");
}

}  // namespace
}  // namespace drover::aws
