#include "objects/bucket_store.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "objects/bucket_lookup.h"

namespace drover {
namespace {

/// So many numbers of files are set aside with one commit.
constexpr std::uint64_t kReserved = 4096;
/// And so many are looked at after a crash, at most.
constexpr std::uint64_t kUnsettled = 1024;
constexpr std::uint64_t kSweptAtOnce = 64;
/// Of one object between two looks at the disk.
constexpr std::uint64_t kUncheckedBytes = std::uint64_t{4} << 20;
constexpr std::size_t kMostIdleReaders = 16;
constexpr auto kPauseAfterTrouble = std::chrono::seconds(5);

/// In the words of in_transaction(): a refusal is an outcome, and only trouble undoes what others do.
template <class T>
Result<BucketResult<T>> refused(BucketError error) {
  if (error.fault == BucketFault::trouble) return std::unexpected(std::move(error.error));
  return BucketResult<T>(std::unexpected(std::move(error)));
}

}  // namespace

class BucketStore::Data final : public NewData {
 public:
  explicit Data(BucketStore& store) : store_(store) {}
  ~Data() override {
    if (number_ != 0 && !is_known_) store_.abandon(number_);
  }
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;

  Result<void> add(std::string_view bytes) override {
    size_ += bytes.size();
    if (size_ > checked_) {
      checked_ = size_ + kUncheckedBytes;
      if (auto room = store_.outside_.has_room(kUncheckedBytes); !room) return room;
    }
    if (!file_ && size_ <= kMostSmallBytes) {
      small_ += bytes;
      return {};
    }
    if (!file_) {
      if (auto begun = begin_file(); !begun) return begun;
    }
    return write_all(file_.get(), bytes, "a new object");
  }

  Result<void> finish() override {
    if (file_) {
      if (auto kept = store_.files_.keep(number_, file_); !kept) return kept;
      file_.reset();
    }
    is_finished_ = true;
    return {};
  }

  std::uint64_t size() const override { return size_; }

  bool is_of(const BucketStore& store) const { return &store_ == &store && is_finished_; }
  /// 0: it is small.
  std::uint64_t file() const { return number_; }
  const std::string& small() const { return small_; }
  void become_known() { is_known_ = true; }

 private:
  Result<void> begin_file() {
    auto number = store_.take_file_number();
    if (!number) return pass(number);
    number_ = *number;
    auto file = store_.files_.create(number_);
    if (!file) return pass(file);
    file_ = std::move(*file);
    const std::string gathered = std::exchange(small_, {});
    return write_all(file_.get(), gathered, "a new object");
  }

  BucketStore& store_;
  std::string small_;
  std::uint64_t size_ = 0;
  std::uint64_t checked_ = 0;  // for so many bytes there was room
  std::uint64_t number_ = 0;
  Descriptor file_;
  bool is_finished_ = false;
  bool is_known_ = false;
};

Result<std::unique_ptr<BucketStore>> BucketStore::open(const std::string& folder, Outside outside) {
  auto files = DataFiles::open(folder);
  if (!files) return pass(files);
  const std::string path = folder + "/index.db";
  auto index = BucketIndex::open_writer(path);
  if (!index) return pass(index);
  auto numbers = index->file_numbers();
  if (!numbers) return pass(numbers);
  auto removed = files->remove_orphans(numbers->settled, numbers->end,
                                       [&](std::uint64_t number) { return index->has_file(number); });
  if (!removed) return pass(removed);
  auto next_small = index->next_small();
  if (!next_small) return pass(next_small);
  return std::unique_ptr<BucketStore>(
      new BucketStore(path, std::move(*index), std::move(*files), *numbers, *next_small, std::move(outside)));
}

BucketStore::BucketStore(std::string path, BucketIndex writer, DataFiles files, BucketIndex::FileNumbers numbers,
                         std::uint64_t next_small, Outside outside)
    : path_(std::move(path)),
      files_(std::move(files)),
      outside_(std::move(outside)),
      writer_(std::move(writer)),
      next_small_(next_small),
      settled_(numbers.settled),
      reserved_(numbers.end),
      next_file_(numbers.end) {
  writer_thread_ = std::thread([this] { run_writer(); });
  sweeper_thread_ = std::thread([this] { run_sweeper(); });
}

BucketStore::~BucketStore() {
  {
    const std::scoped_lock lock(mutex_);
    sweeper_stops_ = true;
  }
  sweeper_wakes_.notify_all();
  sweeper_thread_.join();
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  writer_wakes_.notify_all();
  writer_thread_.join();
}

void BucketStore::post(Change change) {
  {
    const std::scoped_lock lock(mutex_);
    changes_.push_back(std::move(change));
  }
  writer_wakes_.notify_one();
}

void BucketStore::run_writer() {
  std::unique_lock lock(mutex_);
  while (true) {
    writer_wakes_.wait(lock, [&] { return closing_ || !changes_.empty(); });
    if (changes_.empty()) return;
    std::vector<Change> changes = std::exchange(changes_, {});
    const std::uint64_t settled = files_under_way_.empty() ? next_file_ : *files_under_way_.begin();
    lock.unlock();
    made_garbage_ = false;
    const bool says_settled = settled >= settled_ + kUnsettled;
    const Result<void> done = writer_.in_transaction([&]() -> Result<void> {
      for (Change& it : changes) {
        if (auto made = it.make(writer_); !made) return made;
      }
      return says_settled ? writer_.set_settled(settled) : Result<void>();
    });
    if (done && says_settled) settled_ = settled;
    for (Change& it : changes) it.committed(done);
    changes.clear();
    lock.lock();
    if (!done || !made_garbage_) continue;
    has_garbage_ = true;
    sweeper_wakes_.notify_one();
  }
}

void BucketStore::run_sweeper() {
  std::unique_lock lock(mutex_);
  while (true) {
    sweeper_wakes_.wait(lock, [&] { return sweeper_stops_ || has_garbage_ || !abandoned_.empty(); });
    if (sweeper_stops_) return;
    has_garbage_ = false;
    std::vector<std::uint64_t> abandoned = std::exchange(abandoned_, {});
    lock.unlock();
    std::erase_if(abandoned, [&](std::uint64_t file) {
      const bool is_gone = files_.remove(file).has_value();
      if (is_gone) settle(file);
      return is_gone;
    });
    const bool is_swept = sweep();
    lock.lock();
    if (is_swept && abandoned.empty()) continue;
    has_garbage_ = true;
    abandoned_.insert(abandoned_.end(), abandoned.begin(), abandoned.end());
    sweeper_wakes_.wait_for(lock, kPauseAfterTrouble, [&] { return sweeper_stops_; });
  }
}

bool BucketStore::sweep() {
  while (true) {
    auto garbage = read<std::vector<std::uint64_t>>([](BucketIndex& index) -> BucketResult<std::vector<std::uint64_t>> {
      auto found = index.garbage(kSweptAtOnce);
      if (!found) return trouble(std::move(found.error()));
      return std::move(*found);
    });
    if (!garbage) return false;
    if (garbage->empty()) return true;
    for (const std::uint64_t file : *garbage) {
      if (!files_.remove(file)) return false;
    }
    if (auto done = wait_for([&](BucketIndex& index) { return index.forget_files(*garbage); }); !done) return false;
    const std::scoped_lock lock(mutex_);
    if (sweeper_stops_) return true;
  }
}

Result<void> BucketStore::wait_for(std::move_only_function<Result<void>(BucketIndex&)> make) {
  std::promise<Result<void>> promise;
  auto answered = promise.get_future();
  post({.make = std::move(make), .committed = [&promise](const Result<void>& done) { promise.set_value(done); }});
  return answered.get();
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
              if (!done) return pending->answered(trouble(done.error()));
              pending->answered(std::move(*pending->outcome));
            }});
}

Result<std::uint64_t> BucketStore::take_file_number() {
  std::unique_lock lock(mutex_);
  while (next_file_ == reserved_) {
    const std::uint64_t end = reserved_ + kReserved;
    lock.unlock();
    if (auto done = wait_for([end](BucketIndex& index) { return index.reserve_files(end); }); !done) return pass(done);
    lock.lock();
    reserved_ = std::max(reserved_, end);
  }
  const std::uint64_t number = next_file_++;
  files_under_way_.insert(number);
  return number;
}

void BucketStore::settle(std::uint64_t file) {
  const std::scoped_lock lock(mutex_);
  files_under_way_.erase(file);
}

void BucketStore::abandon(std::uint64_t file) {
  {
    const std::scoped_lock lock(mutex_);
    abandoned_.push_back(file);
  }
  sweeper_wakes_.notify_one();
}

Result<BucketIndex> BucketStore::take_reader() {
  {
    const std::scoped_lock lock(mutex_);
    if (!readers_.empty()) {
      BucketIndex out = std::move(readers_.back());
      readers_.pop_back();
      return out;
    }
  }
  return BucketIndex::open_reader(path_);
}

void BucketStore::give_back(BucketIndex reader) {
  const std::scoped_lock lock(mutex_);
  if (readers_.size() < kMostIdleReaders) readers_.push_back(std::move(reader));
}

void BucketStore::create_bucket(Bucket bucket, BucketAnswered<void> answered) {
  change<void>(
      [this, bucket = std::move(bucket)](BucketIndex& index) mutable -> Result<BucketResult<void>> {
        auto there = index.bucket(bucket.name);
        if (!there) return pass(there);
        if (there->has_value()) {
          return refused<void>({BucketFault::bucket_exists,
                                {ErrorCode::conflict, concat("the bucket '", bucket.name, "' is already there"), ""}});
        }
        bucket.created_ms = outside_.now_ms();
        if (auto added = index.add_bucket(bucket); !added) return pass(added);
        return BucketResult<void>();
      },
      std::move(answered));
}

void BucketStore::delete_bucket(std::string name, BucketAnswered<void> answered) {
  change<void>(
      [name = std::move(name)](BucketIndex& index) -> Result<BucketResult<void>> {
        auto found = found_bucket(index, name);
        if (!found) return refused<void>(std::move(found.error()));
        auto is_empty = index.is_empty(found->number);
        if (!is_empty) return pass(is_empty);
        if (!*is_empty) {
          return refused<void>({BucketFault::bucket_not_empty,
                                {ErrorCode::conflict, concat("the bucket '", name, "' is not empty"),
                                 concat("remove what is in it with 'drover objects rm -r s3://", name, "/'")}});
        }
        if (auto removed = index.remove_bucket(found->number); !removed) return pass(removed);
        return BucketResult<void>();
      },
      std::move(answered));
}

Result<std::unique_ptr<NewData>> BucketStore::begin_data() {
  return std::make_unique<Data>(*this);
}

void BucketStore::put(PutObject object, std::unique_ptr<NewData> data, BucketAnswered<StoredObject> answered) {
  auto own = std::shared_ptr<Data>(dynamic_cast<Data*>(data.get()));
  DROVER_CHECK(own && own->is_of(*this), "what is put was finished here");
  static_cast<void>(data.release());
  change<StoredObject>(
      [this, object = std::move(object), own](BucketIndex& index) { return put_now(index, object, *own); },
      [this, own, answered = std::move(answered)](BucketResult<StoredObject> outcome) mutable {
        if (outcome && own->file() != 0) {
          own->become_known();
          settle(own->file());
        }
        answered(std::move(outcome));
      });
}

Result<BucketResult<StoredObject>> BucketStore::put_now(BucketIndex& index, const PutObject& object, Data& data) {
  auto found = found_bucket(index, object.bucket);
  if (!found) return refused<StoredObject>(std::move(found.error()));
  auto before = index.object(found->number, object.key);
  if (!before) return pass(before);
  const std::optional<ObjectRow>& old = *before;
  const std::optional<std::string>& wanted = object.only_if_etag;
  if (wanted && !old) return refused<StoredObject>(no_key(object.bucket, object.key).error());
  if ((old && object.only_if_new) || (wanted && old->object.etag != *wanted)) {
    return refused<StoredObject>(
        {BucketFault::precondition_failed,
         {ErrorCode::conflict, concat("the object '", object.key, "' is not as the request requires it to be"), ""}});
  }
  ObjectRow row{.object = {.key = object.key,
                           .size = data.size(),
                           .modified_ms = outside_.now_ms(),
                           .etag = object.etag,
                           .headers = object.headers},
                .places = {}};
  if (data.file() != 0) {
    row.places.push_back({.number = data.file(), .size = data.size(), .is_file = true});
    if (auto added = index.add_file(data.file()); !added) return pass(added);
  } else if (data.size() > 0) {
    row.places.push_back({.number = next_small_++, .size = data.size(), .is_file = false});
    if (auto added = index.add_small_data(row.places[0].number, data.small()); !added) return pass(added);
  }
  if (old) {
    if (auto gone = let_go(index, *old); !gone) return pass(gone);
  }
  if (auto put = index.put_object(found->number, row); !put) return pass(put);
  return BucketResult<StoredObject>(std::move(row.object));
}

Result<void> BucketStore::let_go(BucketIndex& index, const ObjectRow& row) {
  made_garbage_ = made_garbage_ || std::ranges::any_of(row.places, &DataPlace::is_file);
  return index.let_go(row.places);
}

void BucketStore::remove(std::string bucket, std::string key, BucketAnswered<bool> answered) {
  change<bool>(
      [this, bucket = std::move(bucket), key = std::move(key)](BucketIndex& index) -> Result<BucketResult<bool>> {
        auto found = found_bucket(index, bucket);
        if (!found) return refused<bool>(std::move(found.error()));
        auto before = index.object(found->number, key);
        if (!before) return pass(before);
        const std::optional<ObjectRow>& old = *before;
        if (!old) return BucketResult<bool>(false);
        if (auto gone = let_go(index, *old); !gone) return pass(gone);
        if (auto removed = index.remove_object(found->number, key); !removed) return pass(removed);
        return BucketResult<bool>(true);
      },
      std::move(answered));
}

}  // namespace drover
