// Sums that sixty-four bits would not hold.
#pragma once

namespace drover {

__extension__ using Wide = unsigned __int128;

}  // namespace drover
