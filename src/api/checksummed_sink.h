// A body that goes to a sink while its checksums are taken: on the same thread, which may wait for disks.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ports/http.h"
#include "wire/checksums.h"

namespace drover {

class ChecksummedSink : public HttpBodySink {
 public:
  ChecksummedSink(std::unique_ptr<HttpBodySink> into, const std::vector<ChecksumKind>& kinds)
      : into_(std::move(into)), sums_(kinds) {}

  Result<void> take(std::string_view bytes) override {
    size_ += bytes.size();
    sums_.add(bytes);
    return into_->take(bytes);
  }
  Result<void> finish() override {
    found_ = sums_.finish();
    return into_->finish();
  }

  /// Of the whole body, once it was finished.
  const std::map<ChecksumKind, std::string>& checksums() const { return found_; }
  std::uint64_t size() const { return size_; }
  HttpBodySink& into() { return *into_; }

 private:
  const std::unique_ptr<HttpBodySink> into_;
  Checksums sums_;
  std::map<ChecksumKind, std::string> found_;
  std::uint64_t size_ = 0;
};

}  // namespace drover
