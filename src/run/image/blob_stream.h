// A layer's blob, read once: hashed as it lies there, taken out of its compression, hashed again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ports/descriptor.h"
#include "run/image/content_digest.h"
#include "run/image/image_error.h"
#include "run/image/image_limits.h"

namespace drover {

/// Takes a compression off a stream of bytes.
class Decoder {
 public:
  virtual ~Decoder() = default;

  struct Step {
    std::size_t taken = 0;  // of the input
    std::size_t made = 0;   // of the output
  };
  virtual ImageResult<Step> step(std::span<const char> in, std::span<char> out) = 0;
  /// Whether the stream may end here.
  virtual bool complete() const = 0;
};

/// gzip (of any number of members), zstd or plain, by what it begins with.
class BlobStream {
 public:
  /// `bytes_left`: how many bytes may come out, of `limits.bytes` for the whole image. `read` hears how many bytes more
  /// were read of the file.
  BlobStream(Descriptor file, const ImageLimits& limits, std::uint64_t bytes_left,
             std::function<void(std::uint64_t)> read);

  /// The next piece, valid until the next call; empty at the end.
  ImageResult<std::span<const char>> next();

  /// Hashes what is left of the blob without unpacking it.
  void skip_rest();

  /// Both are known when all was read.
  std::string blob_digest() { return blob_.text(); }
  std::string content_digest() { return content_.text(); }

 private:
  ImageResult<void> fill();
  ImageResult<void> recognize();

  Descriptor file_;
  const ImageLimits& limits_;
  std::uint64_t left_;
  std::function<void(std::uint64_t)> read_;
  std::vector<char> in_;
  std::vector<char> out_;
  std::span<const char> pending_;  // of in_
  bool at_end_ = false;            // of the file
  bool recognized_ = false;
  std::unique_ptr<Decoder> decoder_;
  ContentDigest blob_;
  ContentDigest content_;
};

}  // namespace drover
