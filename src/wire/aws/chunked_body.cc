#include "wire/aws/chunked_body.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "wire/aws/request.h"
#include "wire/digest.h"

namespace drover::aws {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kMostTrailers = 16;
constexpr std::string_view kSignatureOfChunk = "chunk-signature=";
constexpr std::string_view kSignatureOfTrailer = "x-amz-trailer-signature";

std::unexpected<SignatureError> malformed(std::string_view what) {
  return refuse(SignatureFault::bad_chunks, concat("The aws-chunked body is malformed: ", what, "."));
}

std::unexpected<SignatureError> mismatch() {
  return refuse(SignatureFault::mismatch, std::string(kSignatureMismatch));
}

}  // namespace

ChunkedBody::ChunkedBody(std::optional<ChunkSigner> signer, bool has_trailer)
    : signer_(std::move(signer)), has_trailer_(has_trailer), sum_({ChecksumKind::sha256}) {}

SignatureResult<bool> ChunkedBody::gather_line(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  const std::size_t taken = end == std::string_view::npos ? bytes.size() : end + 1;
  if (line_.size() + taken > kLongestLine) return malformed("a line is too long");
  line_ += bytes.substr(0, taken);
  bytes.remove_prefix(taken);
  if (end == std::string_view::npos) return false;
  if (!line_.ends_with("\r\n")) return malformed("a line does not end with CR LF");
  line_.resize(line_.size() - 2);
  return true;
}

SignatureResult<void> ChunkedBody::take(std::string_view bytes, std::string& data) {
  while (!bytes.empty()) {
    if (state_ == State::done) return malformed("there are bytes behind its end");
    if (state_ == State::data) {
      const std::string_view part = bytes.substr(0, std::min<std::uint64_t>(left_, bytes.size()));
      bytes.remove_prefix(part.size());
      left_ -= part.size();
      data += part;
      if (signer_) sum_.add(part);
      if (left_ == 0) state_ = State::after_data;
      continue;
    }
    auto line = gather_line(bytes);
    if (!line) return std::unexpected(std::move(line.error()));
    if (!*line) return {};
    SignatureResult<void> done;
    if (state_ == State::size) {
      done = begin_chunk();
    } else if (state_ == State::after_data) {
      done = line_.empty() ? end_chunk() : malformed("a chunk is longer than it says");
    } else {
      done = line_.empty() ? end_trailer() : take_trailer_line();
    }
    line_.clear();
    if (!done) return done;
  }
  return {};
}

SignatureResult<void> ChunkedBody::begin_chunk() {
  std::string_view rest = line_;
  const std::string_view size = take_until(rest, ';');
  const auto [end, error] = std::from_chars(size.begin(), size.end(), left_, 16);
  if (size.empty() || error != std::errc() || end != size.end()) return malformed("a chunk has no length");
  signature_.clear();
  if (rest.starts_with(kSignatureOfChunk)) signature_ = rest.substr(kSignatureOfChunk.size());
  if (signer_ && signature_.empty()) return malformed("a chunk has no signature");
  sum_ = Checksums({ChecksumKind::sha256});
  is_last_ = left_ == 0;
  state_ = State::data;
  return is_last_ ? end_chunk() : SignatureResult<void>();
}

SignatureResult<void> ChunkedBody::end_chunk() {
  if (signer_) {
    const std::string& computed = signer_->sign_chunk(sum_.finish().at(ChecksumKind::sha256));
    if (!equal_in_constant_time(computed, signature_)) return mismatch();
  }
  state_ = is_last_ ? State::trailer : State::size;
  return {};
}

SignatureResult<void> ChunkedBody::take_trailer_line() {
  const std::size_t colon = line_.find(':');
  if (!has_trailer_ || colon == std::string::npos) return malformed("there is a line behind its last chunk");
  if (trailer_.size() == kMostTrailers) return malformed("its trailer is too long");
  const std::string name = in_small_letters(trimmed(std::string_view(line_).substr(0, colon)));
  const std::string value(trimmed(std::string_view(line_).substr(colon + 1)));
  if (name == kSignatureOfTrailer) {
    signature_ = value;
    signed_trailer_ += '\0';  // what comes behind it is not signed
    return {};
  }
  if (signed_trailer_.ends_with('\0')) return malformed("there is a line behind the trailer's signature");
  signed_trailer_ += concat(name, ":", value, "\n");
  trailer_.emplace_back(name, value);
  return {};
}

SignatureResult<void> ChunkedBody::end_trailer() {
  state_ = State::done;
  if (!signer_ || !has_trailer_) return {};
  if (!signed_trailer_.ends_with('\0')) return malformed("its trailer has no signature");
  signed_trailer_.pop_back();
  if (!equal_in_constant_time(signer_->sign_trailer(sha256(signed_trailer_)), signature_)) return mismatch();
  return {};
}

}  // namespace drover::aws
