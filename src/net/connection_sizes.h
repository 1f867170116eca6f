// How much of a peer's bytes are kept, each way.
#pragma once

#include <cstddef>

namespace drover {

/// Replies to requests that came ahead are gathered up to this before the next request is looked at.
inline constexpr std::size_t kMostUnsent = std::size_t{64} << 10;
/// Read while a reply is owed, which is also how it shows that a peer left.
inline constexpr std::size_t kMostReadAhead = std::size_t{16} << 10;
/// What a sink is given at a time, about.
inline constexpr std::size_t kSinkPiece = std::size_t{256} << 10;

}  // namespace drover
