#include "run/image/blob_stream.h"

#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;

std::unexpected<ImageError> damaged(std::string_view how) {
  return image_fail(ImageFault::corrupt, concat("a layer cannot be unpacked: ", how), "build or push the image again");
}

class Plain final : public Decoder {
 public:
  ImageResult<Step> step(std::span<const char> in, std::span<char> out) override {
    const std::size_t size = std::min(in.size(), out.size());
    std::copy_n(in.begin(), size, out.begin());
    return Step{size, size};
  }
  bool complete() const override { return true; }
};

class Gzip final : public Decoder {
 public:
  Gzip() { DROVER_CHECK(inflateInit2(&state_, 15 + 16) == Z_OK, "zlib begins"); }
  ~Gzip() override { inflateEnd(&state_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  ImageResult<Step> step(std::span<const char> in, std::span<char> out) override {
    // Some builders write a member for every file, so that each can be found.
    if (complete_ && !in.empty()) {
      inflateReset(&state_);
      complete_ = false;
    }
    state_.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(in.data()));
    state_.avail_in = static_cast<unsigned>(in.size());
    state_.next_out = reinterpret_cast<unsigned char*>(out.data());
    state_.avail_out = static_cast<unsigned>(out.size());
    const int result = inflate(&state_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      complete_ = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return damaged(concat("its gzip data is damaged", state_.msg == nullptr ? "" : ", ",
                            state_.msg == nullptr ? "" : state_.msg));
    }
    return Step{in.size() - state_.avail_in, out.size() - state_.avail_out};
  }
  bool complete() const override { return complete_; }

 private:
  z_stream state_{};
  bool complete_ = false;
};

class Zstd final : public Decoder {
 public:
  Zstd() : state_(ZSTD_createDStream()) { DROVER_CHECK(state_ != nullptr, "zstd begins"); }
  ~Zstd() override { ZSTD_freeDStream(state_); }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;

  ImageResult<Step> step(std::span<const char> in, std::span<char> out) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t result = ZSTD_decompressStream(state_, &to, &from);
    if (ZSTD_isError(result) != 0) return damaged(concat("its zstd data is damaged: ", ZSTD_getErrorName(result)));
    if (from.pos > 0 || to.pos > 0) complete_ = result == 0;  // given nothing, it asks for the next frame
    return Step{from.pos, to.pos};
  }
  bool complete() const override { return complete_; }

 private:
  ZSTD_DStream* state_;
  bool complete_ = false;
};

bool begins(std::span<const char> bytes, std::string_view with) {
  return std::string_view(bytes.data(), bytes.size()).starts_with(with);
}

}  // namespace

BlobStream::BlobStream(Descriptor file, const ImageLimits& limits, std::uint64_t bytes_left,
                       std::function<void(std::uint64_t)> read)
    : file_(std::move(file)), limits_(limits), left_(bytes_left), read_(std::move(read)), in_(kPiece), out_(kPiece) {}

ImageResult<void> BlobStream::fill() {
  ssize_t got = 0;
  do {
    got = ::read(file_.get(), in_.data(), in_.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) return std::unexpected(image_errno(errno, "cannot read a fetched layer"));
  if (got == 0) at_end_ = true;
  pending_ = std::span(in_).first(static_cast<std::size_t>(got));
  blob_.add({pending_.data(), pending_.size()});
  if (read_) read_(static_cast<std::uint64_t>(got));
  return {};
}

ImageResult<void> BlobStream::recognize() {
  recognized_ = true;
  if (begins(pending_, "\x1f\x8b")) {
    decoder_ = std::make_unique<Gzip>();
  } else if (begins(pending_, "\x28\xb5\x2f\xfd") ||
             (pending_.size() > 4 && begins(pending_.subspan(1), "\x2a\x4d\x18"))) {
    decoder_ = std::make_unique<Zstd>();
  } else if (begins(pending_, "BZh") || begins(pending_,
                                               "\xfd"
                                               "7zXZ")) {
    return image_fail(ImageFault::unsupported, "a layer is compressed with bzip2 or xz",
                      "push the image with layers in tar, gzip or zstd format");
  } else {
    decoder_ = std::make_unique<Plain>();
  }
  return {};
}

void BlobStream::skip_rest() {
  while (!at_end_) {
    if (!fill()) return;
  }
}

ImageResult<std::span<const char>> BlobStream::next() {
  while (true) {
    if (pending_.empty() && !at_end_) {
      if (auto filled = fill(); !filled) return pass(filled);
      if (!recognized_) {
        if (auto known = recognize(); !known) return pass(known);
      }
    }
    auto step = decoder_->step(pending_, out_);
    if (!step) return pass(step);
    pending_ = pending_.subspan(step->taken);
    if (step->made > left_) {
      return image_fail(
          ImageFault::too_large,
          concat("the layers of the image are larger than ", format_size(limits_.bytes), " when unpacked"),
          "make the image smaller, or raise the limit with DROVER_IMAGE_SIZE");
    }
    left_ -= step->made;
    if (step->made > 0) {
      const std::span<const char> piece = std::span(out_).first(step->made);
      content_.add({piece.data(), piece.size()});
      return piece;
    }
    if (at_end_ && pending_.empty()) {
      if (!decoder_->complete()) return damaged("it is truncated");
      return std::span<const char>();
    }
    if (at_end_ && step->taken == 0) return damaged("its end is damaged");
  }
}

}  // namespace drover
