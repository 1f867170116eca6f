// The body of a PUT on its way into the store, while its checksums are taken.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ports/buckets.h"
#include "ports/http.h"
#include "wire/checksums.h"

namespace drover::aws {

/// Whether the rest of a body is still wanted.
using S3Gate = std::shared_ptr<std::atomic<bool>>;

class S3Body : public HttpBodySink {
 public:
  S3Body(std::unique_ptr<NewData> data, const std::vector<ChecksumKind>& kinds)
      : data_(std::move(data)), sums_(kinds) {}

  Result<void> take(std::string_view bytes) override {
    if (gate_ && !*gate_) return fail(ErrorCode::denied, "Access Denied");
    sums_.add(bytes);
    size_ += bytes.size();
    return noted(data_->add(bytes));
  }
  Result<void> finish() override {
    found_ = sums_.finish();
    is_whole_ = true;
    return noted(data_->finish());
  }

  /// Once it is false, no more is taken.
  void obey(S3Gate gate) { gate_ = std::move(gate); }
  /// All of it came. What went wrong with the disk is in error().
  bool is_whole() const { return is_whole_; }
  const std::optional<Error>& error() const { return error_; }
  const std::map<ChecksumKind, std::string>& checksums() const { return found_; }
  std::uint64_t size() const { return size_; }
  std::unique_ptr<NewData> release() { return std::move(data_); }

 private:
  Result<void> noted(Result<void> done) {
    if (!done) error_ = done.error();
    return done;
  }

  std::unique_ptr<NewData> data_;
  Checksums sums_;
  std::map<ChecksumKind, std::string> found_;
  std::optional<Error> error_;
  S3Gate gate_;
  std::uint64_t size_ = 0;
  bool is_whole_ = false;
};

}  // namespace drover::aws
