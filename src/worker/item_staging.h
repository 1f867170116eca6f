// What items of a job need on this machine before they run, and leave behind when they have: the object that an item
// names is downloaded into a folder of the attempt's own, and what a successful attempt put into another is uploaded.
// Both happen on threads of their own, so other items run meanwhile.
//
// An item's folder, with `in` and `out` in it, is in the folder of its slot while it runs, and elsewhere before and
// after. A container sees the folder of its slot and no other, so nobody else touches what is being fetched or
// uploaded. What items leave is not trusted: no link in it is followed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/words.h"
#include "objects/file_transfer.h"
#include "objects/store_opener.h"

namespace drover {

class ItemStaging {
 public:
  /// Runs something on the owner's thread.
  using Post = std::function<void(std::function<void()> work)>;

  /// What was in the folder before is removed.
  ItemStaging(std::string folder, StoreOpener::Outside network, Post post);
  /// What is under way is given up, and everything is removed.
  ~ItemStaging();
  ItemStaging(const ItemStaging&) = delete;
  ItemStaging& operator=(const ItemStaging&) = delete;

  // On the owner's thread.

  struct Fetched {
    std::string name;  // of the file in `in`; empty: nothing was to be fetched
    std::int64_t took_us = 0;
  };
  using Done = std::function<void()>;
  /// Makes the item's folder, and downloads the object into it, unless the URI is empty. `done` is called later, unless
  /// the item is dropped before.
  void prepare(Token token, const std::string& uri, StoreOpener::Variable variable, Done done);
  bool has(Token token) const { return items_.contains(token); }
  /// Items that were prepared and have not been moved to a slot.
  std::size_t waiting() const;
  /// Nothing: it is still being fetched.
  const std::optional<Result<Fetched>>& fetched(Token token) const { return items_.at(token).fetched; }

  /// The item is about to run in this slot. The folder that it finds `in` and `out` in.
  Result<std::string> move_to_slot(Token token, std::size_t slot);
  /// Where a slot's items have their folders. It is there.
  Result<std::string> slot_folder(std::size_t slot) const;
  /// The name of the item's folder in that of its slot.
  static std::string name_of(Token token);

  /// How many files were uploaded.
  using Collected = std::function<void(Result<std::uint64_t>)>;
  /// Uploads what is in `out`: each file's key is the prefix and its path. `done` is called later, in any case.
  void collect(Token token, const std::string& prefix, StoreOpener::Variable variable, Collected done);
  /// What is being uploaded of it is given up: it ends with `stopped`.
  void stop(Token token);

  /// It has ended, or is somebody else's: its folder is removed.
  void drop(Token token);

 private:
  struct Item {
    std::string folder;
    std::optional<Result<Fetched>> fetched;
    std::stop_source stop;
    bool is_in_slot = false;
    bool is_collected = false;  // its files are being uploaded
    bool is_dropped = false;
  };
  using Task = std::function<void()>;
  /// Slots wait for uploads, and the disk for what is removed: both go before what is fetched ahead.
  enum class Urgency : std::uint8_t { soon, ahead };
  void run_later(Urgency urgency, Task task);
  void work();
  void remove_later(std::string folder);
  Result<Fetched> fetch(const std::string& folder, const std::string& uri, const StoreOpener& opener,
                        const std::stop_token& stop);
  Result<std::uint64_t> upload(const std::string& folder, const std::string& prefix, const StoreOpener& opener,
                               const std::stop_token& stop);
  Result<void> upload_folder(int parent, const std::string& name, const std::string& prefix, int depth,
                             const StoreOpener& opener, const std::stop_token& stop, std::uint64_t& uploaded);

  const std::string folder_;
  const StoreOpener::Outside network_;
  const Post post_;
  FileTransfer transfer_;
  std::map<Token, Item> items_;
  std::shared_ptr<const bool> alive_ = std::make_shared<bool>(true);  // what was posted looks whether this is there

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Task> soon_;
  std::deque<Task> ahead_;
  bool ending_ = false;
  std::vector<std::thread> threads_;  // started when first needed
};

}  // namespace drover
