#include "wire/aws/chunk_signer.h"

#include <utility>

#include "base/text.h"
#include "wire/digest.h"

namespace drover::aws {

ChunkSigner::ChunkSigner(std::shared_ptr<const SigningKey> key, std::string_view date, const SigningScope& scope,
                         std::string seed)
    : key_(std::move(key)), date_and_scope_(concat(date, "\n", scope.text())), previous_(std::move(seed)) {}

const std::string& ChunkSigner::sign_chunk(std::string_view chunk_sha256) {
  static const std::string digest_of_nothing = hex(sha256(""));
  previous_ = key_->sign(concat("AWS4-HMAC-SHA256-PAYLOAD\n", date_and_scope_, "\n", previous_, "\n", digest_of_nothing,
                                "\n", hex(chunk_sha256)));
  return previous_;
}

const std::string& ChunkSigner::sign_trailer(std::string_view trailer_sha256) {
  previous_ =
      key_->sign(concat("AWS4-HMAC-SHA256-TRAILER\n", date_and_scope_, "\n", previous_, "\n", hex(trailer_sha256)));
  return previous_;
}

}  // namespace drover::aws
