#include "cli/item_stream.h"

namespace drover {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
constexpr std::size_t kMostPieces = 8;

}  // namespace

ItemStream::ItemStream(const ItemSource& source, const ItemCheck& check, const Change& change)
    : thread_([this, &source, &check, &change] { read(source, check, change); }) {}

ItemStream::~ItemStream() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool ItemStream::hand_over(std::string piece) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return pieces_.size() < kMostPieces || closing_; });
  if (closing_) return false;
  pieces_.push_back(std::move(piece));
  lock.unlock();
  changed_.notify_all();
  return true;
}

void ItemStream::read(const ItemSource& source, const ItemCheck& check, const Change& change) {
  std::string piece;
  std::uint64_t index = 0;
  auto done = read_items(source, [&](std::string_view given) -> Result<void> {
    const std::string item = change(given);
    if (auto fits = check(item, ItemIndex{index++}); !fits) return fits;
    piece += item;
    piece += '\0';
    if (piece.size() < kPieceBytes) return {};
    if (!hand_over(std::exchange(piece, {}))) return fail(ErrorCode::stopped, "the upload was aborted");
    return {};
  });
  if (done && !piece.empty()) hand_over(std::move(piece));
  const std::scoped_lock lock(mutex_);
  if (!done) failed_ = done.error();
  ended_ = true;
  changed_.notify_all();
}

Result<std::string> ItemStream::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !pieces_.empty() || ended_; });
  if (failed_) return std::unexpected(*failed_);
  if (pieces_.empty()) return std::string();
  std::string piece = std::move(pieces_.front());
  pieces_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return piece;
}

}  // namespace drover
