// Buckets on a disk of this machine: an index (bucket_index.h) and files for what is too large for it (data_files.h).
//
// One thread changes the index. What is asked while it commits shares the next commit, and is answered after it. An
// object's file is whole and in its place before the index names it, and the index stops naming it before it is
// removed: by another thread, which nobody waits for. Whoever opened it can read it to its end.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "objects/bucket_index.h"
#include "objects/data_files.h"
#include "ports/buckets.h"

namespace drover {

class BucketStore final : public Buckets {
 public:
  /// Larger objects have files of their own.
  static constexpr std::size_t kMostSmallBytes = std::size_t{64} << 10;

  struct Outside {
    std::function<std::int64_t()> now_ms;
    /// Whether there is room on the disk for so many bytes; asked now and then while an object comes.
    std::function<Result<void>(std::uint64_t bytes)> has_room = [](std::uint64_t) { return Result<void>(); };
  };

  /// Creates the folder if it does not exist, and removes what a crash left behind. Only one process may have it open:
  /// the lock on the server's folder ensures that.
  static Result<std::unique_ptr<BucketStore>> open(const std::string& folder, Outside outside);
  /// What was asked before is done and answered first.
  ~BucketStore() override;
  BucketStore(const BucketStore&) = delete;
  BucketStore& operator=(const BucketStore&) = delete;

  Result<std::vector<Bucket>> list_buckets() override;
  BucketResult<Bucket> bucket(const std::string& name) override;
  BucketResult<StoredObject> head(const std::string& bucket, const std::string& key) override;
  BucketResult<ObjectContent> open(const std::string& bucket, const std::string& key) override;
  BucketResult<ObjectPage> list(const std::string& bucket, const ObjectQuestion& question) override;

  void create_bucket(Bucket bucket, BucketAnswered<void> answered) override;
  void delete_bucket(std::string name, BucketAnswered<void> answered) override;
  Result<std::unique_ptr<NewData>> begin_data() override;
  void put(PutObject object, std::unique_ptr<NewData> data, BucketAnswered<StoredObject> answered) override;
  void remove(std::string bucket, std::string key, BucketAnswered<bool> answered) override;

 private:
  class Data;
  struct Change {
    std::move_only_function<Result<void>(BucketIndex&)> make;
    std::move_only_function<void(const Result<void>&)> committed;
  };

  BucketStore(std::string path, BucketIndex writer, DataFiles files, BucketIndex::FileNumbers numbers,
              std::uint64_t next_small, Outside outside);
  void run_writer();
  void run_sweeper();
  void post(Change change);
  /// Makes a change that may be refused, and answers when it is durable.
  template <class T>
  void change(std::move_only_function<Result<BucketResult<T>>(BucketIndex&)> make, BucketAnswered<T> answered);
  /// Makes one that must be durable before anything else is done.
  Result<void> wait_for(std::move_only_function<Result<void>(BucketIndex&)> make);
  Result<BucketResult<StoredObject>> put_now(BucketIndex& index, const PutObject& object, Data& data);
  Result<void> let_go(BucketIndex& index, const ObjectRow& row);
  /// Removes the files that no object has any more. False: the disk is in trouble.
  bool sweep();

  /// For a file that is to be made. May wait for a commit.
  Result<std::uint64_t> take_file_number();
  /// The index knows the file, or it was removed.
  void settle(std::uint64_t file);
  /// The index will never know this file.
  void abandon(std::uint64_t file);

  /// A connection for reading, from any thread.
  Result<BucketIndex> take_reader();
  void give_back(BucketIndex reader);
  template <class T>
  BucketResult<T> read(const std::function<BucketResult<T>(BucketIndex&)>& question);

  const std::string path_;  // of the index
  const DataFiles files_;
  const Outside outside_;

  // The writer thread's alone.
  BucketIndex writer_;
  std::uint64_t next_small_;  // a number is not used twice while anybody may read by it
  std::uint64_t settled_;     // as the index has it
  bool made_garbage_ = false;

  std::mutex mutex_;  // guards what follows
  std::condition_variable writer_wakes_;
  std::condition_variable sweeper_wakes_;
  std::vector<Change> changes_;
  std::vector<BucketIndex> readers_;
  std::uint64_t reserved_;  // files may have numbers below this
  std::uint64_t next_file_;
  std::set<std::uint64_t> files_under_way_;
  std::vector<std::uint64_t> abandoned_;
  bool has_garbage_ = true;
  bool closing_ = false;        // no more changes
  bool sweeper_stops_ = false;  // what is left is removed after the next start

  std::thread writer_thread_;
  std::thread sweeper_thread_;
};

template <class T>
BucketResult<T> BucketStore::read(const std::function<BucketResult<T>(BucketIndex&)>& question) {
  auto reader = take_reader();
  if (!reader) return std::unexpected(BucketError{BucketFault::trouble, std::move(reader.error())});
  BucketResult<T> out = question(*reader);
  give_back(std::move(*reader));
  return out;
}

}  // namespace drover
