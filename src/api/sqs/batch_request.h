// Requests with several entries, each of which succeeds or fails for itself.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <expected>
#include <span>

#include "api/aws/aws_api.h"

namespace drover::aws {

/// The entries of a batch: 1 to 10, with ids that are valid and distinct.
std::expected<std::span<const boost::json::value>, Fault> batch_entries(const Call& call);

/// What became of each entry.
class BatchOutcome {
 public:
  void succeed(boost::json::object entry) { successful_.push_back(std::move(entry)); }
  void fail(const boost::json::object& entry, const Fault& fault);
  /// Clients expect no list rather than an empty one.
  boost::json::object output() &&;

 private:
  boost::json::array successful_;
  boost::json::array failed_;
};

}  // namespace drover::aws
