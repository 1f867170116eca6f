// Bytes on their way into the store: gathered in memory while they are few, then in a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "objects/bucket_store.h"

namespace drover {

class BucketStore::Data final : public NewData {
 public:
  Data(BucketStore& store, Placement placement)
      : store_(store), most_small_(placement == Placement::file ? 0 : kMostSmallBytes) {}
  ~Data() override;
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;

  Result<void> add(std::string_view bytes) override;
  Result<void> finish() override;
  std::uint64_t size() const override { return size_; }

  bool is_of(const BucketStore& store) const { return &store_ == &store && is_finished_; }
  /// 0: it is small.
  std::uint64_t file() const { return number_; }
  const std::string& small() const { return small_; }
  /// The index has it.
  void become_known();

 private:
  Result<void> begin_file();

  BucketStore& store_;
  const std::size_t most_small_;
  std::string small_;
  std::uint64_t size_ = 0;
  std::uint64_t checked_ = 0;  // for so many bytes there was room
  std::uint64_t number_ = 0;
  Descriptor file_;
  bool is_finished_ = false;
  bool is_known_ = false;
};

}  // namespace drover
