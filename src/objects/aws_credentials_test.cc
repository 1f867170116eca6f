#include "objects/aws_credentials.h"

#include <gtest/gtest.h>

#include <map>

#include "base/text.h"

namespace drover {
namespace {

/// The metadata services, as a table of answers.
class Metadata : public HttpClient {
 public:
  explicit Metadata(std::map<std::string, std::string>& answers) : answers_(answers) {}

  Result<HttpResponse> call(const HttpCall& call) override {
    std::string asked = concat(call.method, " ", call.path);
    for (const HttpHeader& it : call.headers) asked += concat(" ", it.name, "=", it.value);
    const auto found = answers_.find(asked);
    if (found == answers_.end()) return fail(ErrorCode::unreachable, "nobody is there");
    return HttpResponse{200, {}, found->second};
  }
  void abort() override {}

 private:
  std::map<std::string, std::string>& answers_;
};

class AwsCredentialsTest : public testing::Test {
 protected:
  std::string get(bool refused = false) {
    const auto got = credentials_.get(refused);
    if (!got) return concat("(", got.error().message, ")");
    return concat(got->id, " ", got->secret, " ", got->token);
  }
  static std::optional<std::string> in(const std::map<std::string, std::string>& from, const std::string& name) {
    const auto found = from.find(name);
    return found == from.end() ? std::nullopt : std::optional(found->second);
  }

  std::map<std::string, std::string> variables_{{"HOME", "/home/me"}};
  std::map<std::string, std::string> files_;
  std::map<std::string, std::string> answers_;
  std::string asked_;
  std::int64_t now_ms_ = 1'000'000;
  AwsCredentials credentials_{{.variable = [this](const std::string& name) { return in(variables_, name); },
                               .file = [this](const std::string& path) { return in(files_, path); },
                               .http = [this](const std::string& base) -> Result<std::unique_ptr<HttpClient>> {
                                 asked_ = base;
                                 return std::make_unique<Metadata>(answers_);
                               },
                               .now_ms = [this] { return now_ms_; }}};
};

TEST_F(AwsCredentialsTest, TheEnvironmentComesFirst) {
  variables_["AWS_ACCESS_KEY_ID"] = "id";
  variables_["AWS_SECRET_ACCESS_KEY"] = "secret";
  variables_["AWS_SESSION_TOKEN"] = "token";
  files_["/home/me/.aws/credentials"] = "[default]\naws_access_key_id = other\naws_secret_access_key = other\n";
  EXPECT_EQ(get(), "id secret token");
}

TEST_F(AwsCredentialsTest, FilesOfTheAwsCliHaveProfiles) {
  files_["/home/me/.aws/credentials"] =
      "# mine\n[default]\naws_access_key_id=one\naws_secret_access_key = a=b \r\n\n[ work ]\naws_access_key_id = two\n"
      "aws_secret_access_key = c\naws_session_token = t\n";
  files_["/home/me/.aws/config"] = "[default]\nregion = eu-west-1\n[profile work]\nregion = us-east-2\n";
  EXPECT_EQ(get(), "one a=b ");
  EXPECT_EQ(credentials_.region(), "eu-west-1");
  variables_["AWS_PROFILE"] = "work";
  EXPECT_EQ(get(true), "two c t");
  EXPECT_EQ(credentials_.region(), "us-east-2");
  variables_["AWS_REGION"] = "here";
  EXPECT_EQ(credentials_.region(), "here");
}

TEST_F(AwsCredentialsTest, AContainerAsksWhereItIsToldTo) {
  variables_["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/credentials/x";
  answers_["GET /v2/credentials/x"] =
      R"({"AccessKeyId": "id", "SecretAccessKey": "s", "Token": "t", "Expiration": "1970-01-01T00:30:00Z"})";
  EXPECT_EQ(get(), "id s t");
  EXPECT_EQ(asked_, "http://169.254.170.2");
  // They are kept until shortly before their end.
  answers_["GET /v2/credentials/x"] = R"({"AccessKeyId": "next", "SecretAccessKey": "s", "Token": "t"})";
  EXPECT_EQ(get(), "id s t");
  now_ms_ = 1'500'000;
  EXPECT_EQ(get(), "next s t");
  variables_.erase("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:99/creds?x=1";
  variables_["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "let-me-in";
  answers_["GET /creds?x=1 Authorization=let-me-in"] =
      R"({"AccessKeyId": "full", "SecretAccessKey": "s", "Token": ""})";
  EXPECT_EQ(get(true), "full s ");
  EXPECT_EQ(asked_, "http://127.0.0.1:99");
}

TEST_F(AwsCredentialsTest, AMachineHasThoseOfItsRole) {
  answers_["PUT /latest/api/token X-aws-ec2-metadata-token-ttl-seconds=21600"] = "T";
  answers_["GET /latest/meta-data/iam/security-credentials/ X-aws-ec2-metadata-token=T"] = "worker\n";
  answers_["GET /latest/meta-data/iam/security-credentials/worker X-aws-ec2-metadata-token=T"] =
      R"({"AccessKeyId": "id", "SecretAccessKey": "s", "Token": "t", "Expiration": "2100-01-01T00:00:00Z"})";
  EXPECT_EQ(get(), "id s t");
  variables_["AWS_EC2_METADATA_DISABLED"] = "true";
  EXPECT_TRUE(get(true).starts_with("(no AWS credentials were found")) << get(true);
}

TEST_F(AwsCredentialsTest, NobodyHasAny) {
  EXPECT_TRUE(get().starts_with("(no AWS credentials were found")) << get();
  variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "nonsense";
  EXPECT_TRUE(get().contains("no URL")) << get();
}

}  // namespace
}  // namespace drover
