// Buckets on a disk of this machine: an index (bucket_index.h) and files for what is too large for it (data_files.h).
//
// One thread changes the index. What is asked while it commits shares the next commit, and is answered after it. An
// object's file is whole and in its place before the index names it, and the index stops naming it before it is
// removed: by another thread, which nobody waits for. Objects may share files. Whoever opened an object can read it to
// its end.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "objects/bucket_index.h"
#include "objects/data_files.h"
#include "objects/pin_board.h"
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
    /// There are new events. Must not wait.
    std::function<void()> on_events = [] {};
    /// An upload to which no part came for so long is given up.
    std::int64_t uploads_kept_ms = std::int64_t{7} * 24 * 3600 * 1000;
  };

  /// Creates the folder if it does not exist, and removes what a crash left behind. Only one process may have it open:
  /// the lock on the server's folder ensures that.
  static Result<std::unique_ptr<BucketStore>> open(const std::string& folder, Outside outside);
  /// What was asked before is done and answered first.
  ~BucketStore() override;
  BucketStore(const BucketStore&) = delete;
  BucketStore& operator=(const BucketStore&) = delete;

  // bucket_store_reads.cc
  Result<std::vector<Bucket>> list_buckets() override;
  BucketResult<Bucket> bucket(const std::string& name) override;
  BucketResult<std::optional<std::string>> setting(const std::string& bucket, const std::string& kind) override;
  BucketResult<std::vector<EventRule>> event_rules(const std::string& bucket) override;
  BucketResult<StoredObject> head(const ObjectName& name) override;
  BucketResult<ObjectContent> open(const ObjectName& name) override;
  BucketResult<ObjectPage> list(const std::string& bucket, const ObjectQuestion& question) override;
  BucketResult<VersionPage> list_versions(const std::string& bucket, const ObjectQuestion& question) override;
  BucketResult<Upload> upload(const UploadName& name) override;
  BucketResult<std::vector<StoredPart>> parts(const UploadName& name, std::uint32_t after, std::uint64_t most) override;
  BucketResult<UploadPage> list_uploads(const std::string& bucket, const UploadQuestion& question) override;
  Result<std::vector<ObjectEvent>> events(std::uint64_t after, std::uint64_t most) override;
  std::uint64_t feed() const override { return feed_; }

  // bucket_changes.cc
  void create_bucket(Bucket bucket, BucketAnswered<void> answered) override;
  void delete_bucket(std::string name, BucketAnswered<void> answered) override;
  void set_versioning(std::string bucket, Versioning versioning, BucketAnswered<void> answered) override;
  void set_setting(std::string bucket, std::string kind, std::optional<std::string> text,
                   BucketAnswered<void> answered) override;
  void set_event_rules(std::string bucket, std::vector<EventRule> rules, EventCause cause,
                       BucketAnswered<void> answered) override;
  void forget_events(std::uint64_t up_to, BucketAnswered<void> answered) override;

  // object_changes.cc
  std::unique_ptr<NewData> begin_data(Placement placement) override;
  void put(PutObject object, std::unique_ptr<NewData> data, BucketAnswered<StoredObject> answered) override;
  void copy(CopySource source, PutObject object, BucketAnswered<StoredObject> answered) override;
  void remove(RemoveObject object, BucketAnswered<Removed> answered) override;
  void set_tags(ObjectName name, std::string tags, BucketAnswered<StoredObject> answered) override;
  void set_header(ObjectName name, std::string header, std::optional<std::string> value,
                  BucketAnswered<StoredObject> answered) override;

  // upload_changes.cc
  void begin_upload(NewUpload upload, BucketAnswered<std::string> answered) override;
  void put_part(UploadName upload, StoredPart part, std::unique_ptr<NewData> data,
                BucketAnswered<StoredPart> answered) override;
  void copy_part(UploadName upload, StoredPart part, CopySource source, BucketAnswered<StoredPart> answered) override;
  void abort_upload(UploadName upload, BucketAnswered<void> answered) override;
  void complete_upload(CompleteUpload upload, BucketAnswered<StoredObject> answered) override;

 private:
  class Data;
  struct Change {
    std::move_only_function<Result<void>(BucketIndex&)> make;
    std::move_only_function<void(const Result<void>&)> committed;
  };
  /// What the store begins with.
  struct Begin {
    BucketIndex writer;
    DataFiles files;
    BucketIndex::FileNumbers numbers;
    std::uint64_t next_small = 1;
    std::uint64_t sequence = 1;
    std::uint64_t feed = 0;
  };
  /// Where an object's bytes are.
  struct Bytes {
    std::uint64_t size = 0;
    std::vector<DataPlace> places = {};
    std::vector<std::uint64_t> part_sizes = {};
    std::string upload = {};
  };

  BucketStore(std::string path, Begin begin, Outside outside);
  void run_writer();
  void run_sweeper();
  void post(Change change);
  /// Makes a change that may be refused, and answers when it is durable.
  template <class T>
  void change(std::move_only_function<Result<BucketResult<T>>(BucketIndex&)> make, BucketAnswered<T> answered);
  /// The same with data, which the index knows if the change was made.
  template <class T>
  void change_with(std::unique_ptr<NewData> data,
                   std::move_only_function<Result<BucketResult<T>>(BucketIndex&, Data&)> make,
                   BucketAnswered<T> answered);
  /// Makes one that must be durable before anything else is done.
  Result<void> wait_for(std::move_only_function<Result<void>(BucketIndex&)> make);

  // On the writer's thread, within a transaction.
  Result<std::uint64_t> take_sequence(BucketIndex& index);
  /// What became known to the index.
  Result<Bytes> bytes_of(BucketIndex& index, const Data& data);
  /// The same bytes, or some of them.
  Result<Bytes> shared_bytes(BucketIndex& index, const ObjectRow& source, const CopySource& how);
  Result<BucketResult<StoredObject>> put_now(BucketIndex& index, const PutObject& object,
                                             const std::function<Result<BucketResult<Bytes>>()>& bytes);
  Result<void> make_way(BucketIndex& index, const BucketRow& bucket, std::optional<ObjectRow> old,
                        const std::string& key);
  void amend(ObjectName name, std::function<void(StoredObject&)> how, BucketAnswered<StoredObject> answered);
  Result<BucketResult<Removed>> remove_now(BucketIndex& index, const RemoveObject& object);
  Result<Removed> remove_version(BucketIndex& index, const BucketRow& bucket, const RemoveObject& object,
                                 const std::string& version);
  Result<Removed> remove_current(BucketIndex& index, const BucketRow& bucket, const RemoveObject& object,
                                 std::optional<ObjectRow> old);
  Result<BucketResult<StoredPart>> put_part_now(BucketIndex& index, const UploadName& name, StoredPart part,
                                                const std::function<Result<BucketResult<Bytes>>()>& bytes);
  Result<BucketResult<StoredObject>> complete_now(BucketIndex& index, const CompleteUpload& upload);
  Result<void> let_go(BucketIndex& index, const std::vector<DataPlace>& places);
  Result<void> drop_upload(BucketIndex& index, std::int64_t upload);
  Result<void> tell(BucketIndex& index, const BucketRow& bucket, const StoredObject& object, const std::string& event,
                    const EventCause& cause);
  Result<const std::vector<EventRule>*> rules_of(BucketIndex& index, std::int64_t bucket);

  /// Removes the files that no object has any more. False: some are left, as somebody reads them, a backup is being
  /// made or the disk is in trouble.
  bool sweep();
  void give_up_old_uploads();

  /// For a file that is to be made. May wait for a commit.
  Result<std::uint64_t> take_file_number();
  /// The index knows the file, or it was removed.
  void settle(std::uint64_t file);
  /// The index will never know this file.
  void abandon(std::uint64_t file);

  /// Nothing: it was replaced meanwhile.
  Result<std::optional<ObjectContent>> open_row(BucketIndex& index, ObjectRow row, const ObjectName& name);

  /// A connection for reading, from any thread.
  Result<BucketIndex> take_reader();
  void give_back(BucketIndex reader);
  template <class T>
  BucketResult<T> read(const std::function<BucketResult<T>(BucketIndex&)>& question);

  const std::string path_;  // of the index
  const DataFiles files_;
  const Outside outside_;
  const std::uint64_t feed_;
  const std::shared_ptr<PinBoard> pins_ = std::make_shared<PinBoard>();

  // The writer thread's alone.
  BucketIndex writer_;
  std::uint64_t next_small_;  // a number is not used twice while anybody may read by it
  std::uint64_t settled_;     // as the index has it
  std::uint64_t next_sequence_;
  std::uint64_t sequence_end_;  // as the index has it
  std::map<std::int64_t, std::vector<EventRule>> rules_;
  bool made_garbage_ = false;
  bool made_events_ = false;

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

template <class T>
void BucketStore::change(std::move_only_function<Result<BucketResult<T>>(BucketIndex&)> make,
                         BucketAnswered<T> answered) {
  struct Pending {
    std::move_only_function<Result<BucketResult<T>>(BucketIndex&)> make;
    BucketAnswered<T> answered;
    std::optional<BucketResult<T>> outcome;
  };
  auto pending = std::make_shared<Pending>(Pending{std::move(make), std::move(answered), {}});
  post({.make = [pending](BucketIndex& index) -> Result<void> {
          auto made = pending->make(index);
          if (!made) return pass(made);
          pending->outcome = std::move(*made);
          return {};
        },
        .committed =
            [pending](const Result<void>& done) {
              if (!done) {
                return pending->answered(std::unexpected(BucketError{BucketFault::trouble, done.error()}));
              }
              pending->answered(std::move(*pending->outcome));
            }});
}

}  // namespace drover
