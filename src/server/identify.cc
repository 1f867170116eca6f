#include "server/identify.h"

#include <utility>
#include <variant>

#include "wire/aws/sigv2.h"
#include "wire/aws/sigv4.h"
#include "wire/digest.h"

namespace drover {
namespace {

constexpr std::string_view kBearer = "Bearer ";

bool looks_signed(const HttpHead& head) {
  const std::string* authorization = head.header("Authorization");
  if (authorization != nullptr) return authorization->starts_with("AWS");
  return head.query.find("X-Amz-Credential=") != std::string::npos ||
         head.query.find("AWSAccessKeyId=") != std::string::npos;
}

std::unexpected<Refusal> refused(aws::SignatureError error) {
  Refusal out{.error = {ErrorCode::denied, error.message, {}}, .signature = {}};
  out.signature = std::move(error);
  return std::unexpected(std::move(out));
}

class Signatures {
 public:
  Signatures(const KeyRing& keys, aws::SigningKeyCache& cache, std::function<std::int64_t()> now_ms)
      : keys_(keys), cache_(cache), now_ms_(std::move(now_ms)) {}

  std::expected<Identity, Refusal> identify(const HttpHead& head) const {
    std::vector<aws::Header> headers;
    headers.reserve(head.headers.size());
    for (const HttpHeader& it : head.headers) headers.push_back({it.name, it.value});
    const aws::Request request{head.method, head.path, head.query, headers};
    auto signature = aws::read_signature(request);
    if (!signature) return refused(std::move(signature.error()));
    auto signer = keys_.signer(signature->access_key_id, signature->session_token, now_ms_());
    if (!signer) {
      const auto fault =
          signer.error().has_expired ? aws::SignatureFault::expired_token : aws::SignatureFault::unknown_key;
      return refused({fault, signer.error().message, {}});
    }
    Identity identity{.caller = std::move(signer->caller), .is_valid = is_valid(*signature)};
    if (signature->kind == aws::SignatureKind::v2_query) {
      auto verified = aws::verify_v2(request, *signature, signer->secret.reveal(), now_ms_());
      if (!verified) return refused(std::move(verified.error()));
      return identity;
    }
    auto verified = aws::verify_head(request, *signature, signer->secret.reveal(), now_ms_(), cache_);
    if (!verified) return refused(std::move(verified.error()));
    if (const auto* checked = std::get_if<aws::VerifiedHead>(&*verified)) identity.signed_head = *checked;
    identity.verify = [checks = std::move(*verified)](std::string_view body) -> std::expected<void, Refusal> {
      auto checked = std::visit([&](const auto& it) { return it.check_body(sha256(body)); }, checks);
      if (!checked) return refused(std::move(checked.error()));
      return {};
    };
    return identity;
  }

 private:
  std::function<bool()> is_valid(const aws::SignedRequest& signature) const {
    return [this, id = signature.access_key_id, token = SecretText(signature.session_token)] {
      if (token.reveal().empty()) return keys_.holds(id, now_ms_());
      return keys_.signer(id, token.reveal(), now_ms_()).has_value();
    };
  }

  const KeyRing& keys_;
  aws::SigningKeyCache& cache_;
  const std::function<std::int64_t()> now_ms_;
};

}  // namespace

Identify identify_by_key(const KeyRing& keys, aws::SigningKeyCache& signing_keys,
                         std::function<std::int64_t()> now_ms) {
  auto signatures = std::make_shared<const Signatures>(keys, signing_keys, now_ms);
  return [&keys, signatures = std::move(signatures),
          now_ms = std::move(now_ms)](const HttpHead& head) -> std::expected<Identity, Refusal> {
    if (looks_signed(head)) return signatures->identify(head);
    const std::string* authorization = head.header("Authorization");
    if (authorization == nullptr || !authorization->starts_with(kBearer)) {
      return std::unexpected(Refusal{{ErrorCode::denied, "this call requires a key",
                                      "send 'Authorization: Bearer KEY'; the CLI reads it from $DROVER_KEY"}});
    }
    const std::string_view bearer = std::string_view(*authorization).substr(kBearer.size());
    auto caller = keys.check(bearer, now_ms());
    if (!caller) return std::unexpected(Refusal{std::move(caller.error())});
    return Identity{.caller = std::move(*caller),
                    .is_valid = [&keys, now_ms, bearer = SecretText(std::string(bearer))] {
                      return keys.check(bearer.reveal(), now_ms()).has_value();
                    }};
  };
}

}  // namespace drover
