#include "logs/frame.h"

#include <zstd.h>

#include <cstring>

#include "base/check.h"

namespace drover {
namespace {

constexpr std::uint32_t kSizesMagic = 0x184D2A5D;  // one of zstd's skippable frames
constexpr std::uint32_t kEndMagic = 0x184D2A5E;

int level_of(PackEffort effort) {
  switch (effort) {
    case PackEffort::normal: return 1;
    case PackEffort::little: return -10;
    case PackEffort::none: return ZSTD_minCLevel();
  }
  return 1;
}

void put_u32(std::string& out, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(number >> shift);
}

std::uint32_t get_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (int i = 3; i >= 0; --i)
    number = number << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return number;
}

}  // namespace

std::optional<FrameSizes> read_frame_header(std::string_view bytes) {
  if (bytes.size() < kFrameHeader || get_u32(bytes, 0) != kSizesMagic || get_u32(bytes, 4) != 8) {
    return std::nullopt;
  }
  const FrameSizes sizes{get_u32(bytes, 8), get_u32(bytes, 12)};
  if (sizes.packed > kLargestFrame || sizes.raw > kLargestFrame) return std::nullopt;
  return sizes;
}

std::string segment_end_mark() {
  std::string mark;
  put_u32(mark, kEndMagic);
  put_u32(mark, 8);
  mark += "the end.";
  return mark;
}

struct FramePacker::State {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  std::string out;
};

FramePacker::FramePacker() : state_(std::make_unique<State>()) {
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_checksumFlag, 1);
}

FramePacker::~FramePacker() {
  ZSTD_freeCCtx(state_->context);
}

std::string_view FramePacker::pack(std::string_view raw, PackEffort effort) {
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_compressionLevel, level_of(effort));
  std::string& out = state_->out;
  const std::size_t bound = ZSTD_compressBound(raw.size());
  if (out.size() < kFrameHeader + bound) out.resize(kFrameHeader + bound);
  const std::size_t packed = ZSTD_compress2(state_->context, out.data() + kFrameHeader, bound, raw.data(), raw.size());
  DROVER_CHECK(ZSTD_isError(packed) == 0, "there is room enough, and nothing else can go wrong");
  std::string header;
  put_u32(header, kSizesMagic);
  put_u32(header, 8);
  put_u32(header, static_cast<std::uint32_t>(packed));
  put_u32(header, static_cast<std::uint32_t>(raw.size()));
  std::memcpy(out.data(), header.data(), kFrameHeader);
  return {out.data(), kFrameHeader + packed};
}

struct FrameUnpacker::State {
  ZSTD_DCtx* context = ZSTD_createDCtx();
};

FrameUnpacker::FrameUnpacker() : state_(std::make_unique<State>()) {}

FrameUnpacker::~FrameUnpacker() {
  ZSTD_freeDCtx(state_->context);
}

bool FrameUnpacker::unpack(std::string_view packed, std::uint32_t raw_size, std::string& out) {
  // The library of g++ 12 may tell the function of more room than was asked for.
  out.resize_and_overwrite(raw_size, [&](char*, std::size_t) { return raw_size; });
  const std::size_t got = ZSTD_decompressDCtx(state_->context, out.data(), out.size(), packed.data(), packed.size());
  return ZSTD_isError(got) == 0 && got == raw_size;
}

}  // namespace drover
