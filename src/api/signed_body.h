// A body on its way to a sink, held against what the signed head says of it. Who sent it is known from the head; what
// comes is kept only if it is what they signed.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "api/identity.h"
#include "ports/http.h"
#include "wire/aws/chunked_body.h"
#include "wire/aws/sigv4.h"
#include "wire/checksums.h"

namespace drover {

class SignedBody : public HttpBodySink {
 public:
  SignedBody(std::unique_ptr<HttpBodySink> into, aws::VerifiedHead head)
      : into_(std::move(into)), head_(std::move(head)), sum_({ChecksumKind::sha256}) {
    using enum aws::PayloadForm;
    const bool has_trailer = head_.payload == signed_chunks_and_trailer || head_.payload == unsigned_chunks_and_trailer;
    if (has_trailer || head_.payload == signed_chunks) chunks_.emplace(head_.chunks, has_trailer);
  }

  Result<void> take(std::string_view bytes) override {
    if (head_.payload == aws::PayloadForm::hashed) sum_.add(bytes);
    if (!chunks_) return into_->take(bytes);
    std::string data;
    if (auto taken = chunks_->take(bytes, data); !taken) return refuse(taken.error());
    return into_->take(data);
  }

  Result<void> finish() override {
    if (head_.payload == aws::PayloadForm::hashed) {
      if (auto checked = head_.check_body(sum_.finish().at(ChecksumKind::sha256)); !checked) {
        return refuse(checked.error());
      }
    }
    if (chunks_ && !chunks_->is_done()) {
      return refuse({aws::SignatureFault::bad_chunks, "The aws-chunked body is malformed: it has no end.", {}});
    }
    return into_->finish();
  }

  /// Why the body is not what was signed.
  const std::optional<Refusal>& refusal() const { return refusal_; }
  /// Those that came behind the body, to be read like headers. All else there could be anybody's words.
  std::vector<HttpHeader> checksums() const {
    std::vector<HttpHeader> out;
    if (!chunks_) return out;
    for (const auto& [name, value] : chunks_->trailer()) {
      if (name.starts_with("x-amz-checksum-")) out.push_back({name, value});
    }
    return out;
  }
  /// The sink that took it.
  std::unique_ptr<HttpBodySink> release() { return std::move(into_); }

 private:
  std::unexpected<Error> refuse(const aws::SignatureError& error) {
    refusal_ = Refusal{.error = {ErrorCode::denied, error.message, {}}, .signature = error};
    return std::unexpected(refusal_->error);
  }

  std::unique_ptr<HttpBodySink> into_;
  const aws::VerifiedHead head_;
  Checksums sum_;
  std::optional<aws::ChunkedBody> chunks_;
  std::optional<Refusal> refusal_;
};

}  // namespace drover
