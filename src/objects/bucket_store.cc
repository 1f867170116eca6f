#include "objects/bucket_store.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "base/text.h"
#include "objects/bucket_lookup.h"
#include "objects/sweep_lock.h"

namespace drover {
namespace {

/// So many numbers of files are set aside with one commit.
constexpr std::uint64_t kReserved = 4096;
/// And so many are looked at after a crash, at most.
constexpr std::uint64_t kUnsettled = 1024;
constexpr std::uint64_t kSequencesReserved = 100'000;
constexpr std::uint64_t kSweptAtOnce = 64;
constexpr std::uint64_t kPagesAtOnce = 512;
constexpr std::size_t kMostIdleReaders = 16;
constexpr auto kPauseAfterTrouble = std::chrono::seconds(5);
constexpr auto kPauseForReaders = std::chrono::seconds(1);
constexpr auto kBetweenLooksAtUploads = std::chrono::minutes(10);
/// Nothing is written for so long before the index is made shorter, and between two steps of that.
constexpr auto kQuiet = std::chrono::seconds(1);
constexpr auto kBetweenSteps = std::chrono::milliseconds(20);

}  // namespace

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
  auto sequence = index->sequence_end();
  if (!sequence) return pass(sequence);
  // Nothing can be sent twice: a new name lets numbers begin anew, as they do in a folder that was put back.
  if (auto renewed = index->renew_feed_if_all_told(); !renewed) return pass(renewed);
  auto feed = index->feed();
  if (!feed) return pass(feed);
  return std::unique_ptr<BucketStore>(new BucketStore(
      path, {std::move(*index), std::move(*files), *numbers, *next_small, *sequence, *feed}, std::move(outside)));
}

BucketStore::BucketStore(std::string path, Begin begin, Outside outside)
    : path_(std::move(path)),
      files_(std::move(begin.files)),
      outside_(std::move(outside)),
      feed_(begin.feed),
      writer_(std::move(begin.writer)),
      next_small_(begin.next_small),
      settled_(begin.numbers.settled),
      next_sequence_(begin.sequence),
      sequence_end_(begin.sequence),
      reserved_(begin.numbers.end),
      next_file_(begin.numbers.end) {
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
  const auto has_work = [&] { return closing_ || !changes_.empty(); };
  std::optional<std::chrono::milliseconds> until_shrunk = kQuiet;
  while (true) {
    if (until_shrunk && !writer_wakes_.wait_for(lock, *until_shrunk, has_work)) {
      lock.unlock();
      const bool has_more = writer_.shrink(kPagesAtOnce).value_or(false);
      until_shrunk = has_more ? std::optional<std::chrono::milliseconds>(kBetweenSteps) : std::nullopt;
      lock.lock();
      continue;
    }
    writer_wakes_.wait(lock, has_work);
    if (changes_.empty()) return;
    until_shrunk = kQuiet;
    std::vector<Change> changes = std::exchange(changes_, {});
    const std::uint64_t settled = files_under_way_.empty() ? next_file_ : *files_under_way_.begin();
    lock.unlock();
    made_garbage_ = false;
    made_events_ = false;
    const bool says_settled = settled >= settled_ + kUnsettled;
    const Result<void> done = writer_.in_transaction([&]() -> Result<void> {
      for (Change& it : changes) {
        if (auto made = it.make(writer_); !made) return made;
      }
      return says_settled ? writer_.set_settled(settled) : Result<void>();
    });
    if (done && says_settled) settled_ = settled;
    if (!done) {
      // What was kept of the index may never have been there.
      rules_.clear();
      sequence_end_ = next_sequence_;
    }
    for (Change& it : changes) it.committed(done);
    changes.clear();
    if (done && made_events_) outside_.on_events();
    lock.lock();
    if (!done || !made_garbage_) continue;
    has_garbage_ = true;
    sweeper_wakes_.notify_one();
  }
}

void BucketStore::run_sweeper() {
  std::unique_lock lock(mutex_);
  auto next_look = std::chrono::steady_clock::now();
  while (true) {
    sweeper_wakes_.wait_until(lock, next_look, [&] { return sweeper_stops_ || has_garbage_ || !abandoned_.empty(); });
    if (sweeper_stops_) return;
    has_garbage_ = false;
    std::vector<std::uint64_t> abandoned = std::exchange(abandoned_, {});
    lock.unlock();
    if (std::chrono::steady_clock::now() >= next_look) {
      next_look = std::chrono::steady_clock::now() + kBetweenLooksAtUploads;
      give_up_old_uploads();
    }
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
    const auto pause = abandoned.empty() ? kPauseForReaders : kPauseAfterTrouble;
    sweeper_wakes_.wait_for(lock, pause, [&] { return sweeper_stops_; });
  }
}

bool BucketStore::sweep() {
  using Numbers = std::vector<std::uint64_t>;
  bool is_swept = true;
  std::uint64_t after = 0;
  while (true) {
    auto garbage = read<Numbers>([&](BucketIndex& index) -> BucketResult<Numbers> {
      auto found = index.garbage(after, kSweptAtOnce);
      if (!found) return trouble(std::move(found.error()));
      return std::move(*found);
    });
    if (!garbage) return false;
    if (garbage->empty()) return is_swept;
    after = garbage->back();
    {
      const auto may_remove = SweepLock::remove_files(files_.folder());
      if (!may_remove) return false;
      std::erase_if(*garbage, [&](std::uint64_t file) {
        const bool is_left = pins_->is_pinned(file) || !files_.remove(file);
        is_swept = is_swept && !is_left;
        return is_left;
      });
    }
    if (auto done = wait_for([&](BucketIndex& index) { return index.forget_files(*garbage); }); !done) return false;
    const std::scoped_lock lock(mutex_);
    if (sweeper_stops_) return true;
  }
}

// Those that it cannot give up now it gives up the next time.
void BucketStore::give_up_old_uploads() {
  std::size_t given_up = kSweptAtOnce;
  while (given_up == kSweptAtOnce) {
    given_up = 0;
    (void)wait_for([&](BucketIndex& index) -> Result<void> {
      auto uploads = index.uploads_before(outside_.now_ms() - outside_.uploads_kept_ms, kSweptAtOnce);
      if (!uploads) return pass(uploads);
      for (const std::int64_t it : *uploads) {
        if (auto dropped = drop_upload(index, it); !dropped) return dropped;
      }
      given_up = uploads->size();
      return {};
    });
    const std::scoped_lock lock(mutex_);
    if (sweeper_stops_) return;
  }
}

Result<void> BucketStore::wait_for(std::move_only_function<Result<void>(BucketIndex&)> make) {
  std::promise<Result<void>> promise;
  auto answered = promise.get_future();
  post({.make = std::move(make), .committed = [&promise](const Result<void>& done) { promise.set_value(done); }});
  return answered.get();
}

Result<std::uint64_t> BucketStore::take_file_number() {
  std::unique_lock lock(mutex_);
  while (next_file_ == reserved_) {
    const std::uint64_t end = reserved_ + kReserved;
    lock.unlock();
    if (auto made = files_.prepare(end - kReserved, end); !made) return pass(made);
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

Result<std::uint64_t> BucketStore::take_sequence(BucketIndex& index) {
  if (next_sequence_ == sequence_end_) {
    if (auto done = index.reserve_sequence(sequence_end_ + kSequencesReserved); !done) return pass(done);
    sequence_end_ += kSequencesReserved;
  }
  return next_sequence_++;
}

Result<void> BucketStore::let_go(BucketIndex& index, const std::vector<DataPlace>& places) {
  auto made_garbage = index.let_go(places);
  if (!made_garbage) return pass(made_garbage);
  made_garbage_ = made_garbage_ || *made_garbage;
  return {};
}

}  // namespace drover
