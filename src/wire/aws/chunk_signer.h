// Signatures inside an aws-chunked body: each chunk's covers the chunk and the signature before it, the first that of
// the head. The last chunk is empty; behind it there may be a signed trailer.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "wire/aws/signing_key.h"

namespace drover::aws {

class ChunkSigner {
 public:
  /// `seed` is the signature of the head.
  ChunkSigner(std::shared_ptr<const SigningKey> key, std::string_view date, const SigningScope& scope,
              std::string seed);

  /// The signature of the next chunk. The digest is that of the chunk's data, 32 bytes.
  const std::string& sign_chunk(std::string_view chunk_sha256);
  /// The digest is that of the trailer's lines as they are signed: "x-amz-checksum-crc32c:sOO8/Q==\n", names in small
  /// letters.
  const std::string& sign_trailer(std::string_view trailer_sha256);

 private:
  std::shared_ptr<const SigningKey> key_;
  std::string date_and_scope_;
  std::string previous_;
};

}  // namespace drover::aws
