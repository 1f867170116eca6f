#include "sqs_requests.h"

#include <chrono>

#include "base/text.h"
#include "measure.h"
#include "wire/aws/canonical_request.h"
#include "wire/aws/signing_time.h"
#include "wire/digest.h"

namespace drover {
namespace {

constexpr std::string_view kContentType = "application/x-amz-json-1.0";
constexpr std::string_view kSignedHeaders = "content-type;host;x-amz-date;x-amz-target";

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// `[{"Id":"0","NAME":"…"},…]`.
template <class Texts>
std::string entries(std::string_view name, const Texts& texts) {
  std::string out = "[";
  for (std::size_t i = 0; i < texts.size(); ++i) {
    out += concat(i == 0 ? "" : ",", R"({"Id":")", i, R"(",")", name, R"(":")", texts[i], R"("})");
  }
  return out + "]";
}

std::size_t occurrences(std::string_view text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; at += word.size()) ++count;
  return count;
}

}  // namespace

SqsRequests::SqsRequests(const ServerPlace& place, std::string queue_url)
    : host_(concat(place.host, ":", place.port)), queue_url_(std::move(queue_url)) {
  const std::size_t dot = place.key.find('.');
  if (dot == std::string::npos) give_up("the key is not ID.SECRET");
  key_id_ = place.key.substr(0, dot);
  secret_ = place.key.substr(dot + 1);
}

std::string SqsRequests::signed_request(std::string_view operation, std::string_view body) {
  const std::string date = aws::signing_time(now_ms());
  if (!key_ || scope_.day != std::string_view(date).substr(0, 8)) {
    scope_.day = date.substr(0, 8);
    key_.emplace(secret_, scope_);
  }
  const std::string canonical =
      concat("POST\n/\n\ncontent-type:", kContentType, "\nhost:", host_, "\nx-amz-date:", date,
             "\nx-amz-target:AmazonSQS.", operation, "\n\n", kSignedHeaders, "\n", hex(sha256(body)));
  return concat("POST / HTTP/1.1\r\nHost: ", host_, "\r\nContent-Type: ", kContentType, "\r\nX-Amz-Date: ", date,
                "\r\nX-Amz-Target: AmazonSQS.", operation, "\r\nAuthorization: AWS4-HMAC-SHA256 Credential=", key_id_,
                "/", scope_.text(), ", SignedHeaders=", kSignedHeaders,
                ", Signature=", key_->sign(aws::string_to_sign(date, scope_, canonical)),
                "\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
}

std::string SqsRequests::send(const std::vector<std::string_view>& bodies) {
  if (bodies.size() == 1) {
    return signed_request("SendMessage",
                          concat(R"({"QueueUrl":")", queue_url_, R"(","MessageBody":")", bodies[0], R"("})"));
  }
  return signed_request("SendMessageBatch",
                        concat(R"({"QueueUrl":")", queue_url_, R"(","Entries":)", entries("MessageBody", bodies), "}"));
}

std::string SqsRequests::receive(int most, int wait_seconds) {
  return signed_request("ReceiveMessage", concat(R"({"QueueUrl":")", queue_url_, R"(","MaxNumberOfMessages":)", most,
                                                 R"(,"WaitTimeSeconds":)", wait_seconds, "}"));
}

std::string SqsRequests::remove(const std::vector<std::string>& handles) {
  if (handles.size() == 1) {
    return signed_request("DeleteMessage",
                          concat(R"({"QueueUrl":")", queue_url_, R"(","ReceiptHandle":")", handles[0], R"("})"));
  }
  return signed_request("DeleteMessageBatch", concat(R"({"QueueUrl":")", queue_url_, R"(","Entries":)",
                                                     entries("ReceiptHandle", handles), "}"));
}

void expect_sent(std::string_view answer, std::size_t count) {
  if (occurrences(answer, R"("MessageId":")") != count) give_up(concat("not all were sent: ", answer));
}

void expect_removed(std::string_view answer, std::size_t count) {
  const std::size_t wanted = count == 1 ? 0 : count;  // one alone has no entry
  if (occurrences(answer, R"("Id":")") != wanted || answer.contains(R"("Code":)")) {
    give_up(concat("not all were deleted: ", answer));
  }
}

std::vector<std::string> received_handles(std::string_view answer) {
  constexpr std::string_view kBefore = R"("ReceiptHandle":")";
  std::vector<std::string> out;
  for (std::size_t at = 0; (at = answer.find(kBefore, at)) != std::string_view::npos;) {
    at += kBefore.size();
    out.emplace_back(answer.substr(at, answer.find('"', at) - at));
  }
  return out;
}

}  // namespace drover
