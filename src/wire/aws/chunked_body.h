// Unpacks a body in the form that AWS calls aws-chunked:
//
//   6;chunk-signature=…\r\nhello\n\r\n        a chunk; the signature only where chunks are signed
//   0;chunk-signature=…\r\n                   the last, which is empty
//   x-amz-checksum-crc32:NjowIA==\r\n         the trailer, if there is one, and where chunks are signed
//   x-amz-trailer-signature:…\r\n             its signature
//   \r\n
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/aws/chunk_signer.h"
#include "wire/aws/signature_error.h"
#include "wire/checksums.h"

namespace drover::aws {

class ChunkedBody {
 public:
  /// With a signer, every chunk and the trailer must be signed.
  ChunkedBody(std::optional<ChunkSigner> signer, bool has_trailer);

  /// Appends what is unpacked to `data`. What a chunk has may come before it is known whether its signature is right.
  SignatureResult<void> take(std::string_view bytes, std::string& data);
  /// The end has come.
  bool is_done() const { return state_ == State::done; }
  /// Names in small letters.
  const std::vector<std::pair<std::string, std::string>>& trailer() const { return trailer_; }

 private:
  enum class State : std::uint8_t { size, data, after_data, trailer, done };

  /// Appends to line_ up to a line's end. True: a line is there.
  SignatureResult<bool> gather_line(std::string_view& bytes);
  SignatureResult<void> begin_chunk();
  SignatureResult<void> end_chunk();
  SignatureResult<void> take_trailer_line();
  SignatureResult<void> end_trailer();

  std::optional<ChunkSigner> signer_;
  const bool has_trailer_;
  State state_ = State::size;
  std::string line_;
  std::uint64_t left_ = 0;  // of the chunk
  bool is_last_ = false;
  std::string signature_;  // of the chunk, or of the trailer
  Checksums sum_;
  std::string signed_trailer_;
  std::vector<std::pair<std::string, std::string>> trailer_;
};

}  // namespace drover::aws
