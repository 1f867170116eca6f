// Items as a body to upload: read on a thread of their own while the network takes what is there, NUL after each.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/ids.h"
#include "base/result.h"
#include "cli/item_source.h"

namespace drover {

/// Whether a job can be run on an item.
using ItemCheck = std::function<Result<void>(std::string_view item, ItemIndex index)>;

class ItemStream {
 public:
  /// What becomes of an item before anybody else sees it.
  using Change = std::function<std::string(std::string_view)>;
  /// An item that the check refuses ends it with an error.
  ItemStream(const ItemSource& source, const ItemCheck& check, const Change& change);
  ~ItemStream();
  ItemStream(const ItemStream&) = delete;
  ItemStream& operator=(const ItemStream&) = delete;

  /// The next piece; an empty one is the end.
  Result<std::string> next();

 private:
  void read(const ItemSource& source, const ItemCheck& check, const Change& change);
  bool hand_over(std::string piece);

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::string> pieces_;
  bool ended_ = false;
  bool closing_ = false;
  std::optional<Error> failed_;
  std::thread thread_;
};

}  // namespace drover
