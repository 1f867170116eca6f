// Memory for the values of one request or one answer, which live and end together: a few large pieces instead of many
// small ones.
#pragma once

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/storage_ptr.hpp>
#include <cstddef>

namespace drover::aws {

/// `bytes`: about how much is needed. More is there if it is not enough. One thread at a time may use it.
inline boost::json::storage_ptr arena(std::size_t bytes) {
  return boost::json::make_shared_resource<boost::json::monotonic_resource>(bytes);
}

}  // namespace drover::aws
