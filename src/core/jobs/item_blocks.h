// A job's items, two bits each, in blocks of 4,096. A block whose items are all alike is one value, so a job of a
// hundred million untouched items costs kilobytes and a half-finished one 25 MB.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"

namespace drover {

/// How far an item is, as its block holds it. An open item is granted or waits for a retry.
enum class ItemMark : std::uint8_t { pending = 0, open = 1, succeeded = 2, ended = 3 };

class ItemBlocks {
 public:
  static constexpr std::uint64_t kBlockItems = 4096;

  ItemBlocks() = default;
  explicit ItemBlocks(std::uint64_t total);

  std::uint64_t total() const { return total_; }
  std::uint64_t block_count() const { return blocks_.size(); }
  static std::uint64_t block_of(ItemIndex item) { return item.value / kBlockItems; }

  /// More items, all pending.
  void grow(std::uint64_t total);

  ItemMark get(ItemIndex item) const;
  void set(ItemIndex item, ItemMark mark);
  std::uint64_t count(ItemMark mark) const { return counts_[static_cast<std::size_t>(mark)]; }

  /// The first item at or after `from` with this mark.
  std::optional<ItemIndex> find(ItemMark mark, ItemIndex from) const;
  /// How many items from `from` on have this mark without a gap, at most `most`: it looks no further.
  std::uint64_t run_length(ItemMark mark, ItemIndex from, std::uint64_t most) const;
  /// How many of the items before `to` have this mark.
  std::uint64_t count_before(ItemMark mark, ItemIndex to) const;

  /// A mark, and the items that it is looked for in.
  struct Marked {
    const ItemBlocks* blocks = nullptr;
    ItemMark mark = ItemMark::pending;
  };
  /// The first item in [from, to) that has its mark in each of these, which are of one size.
  static std::optional<ItemIndex> find_in_all(std::span<const Marked> all, ItemIndex from, ItemIndex to);
  /// How many items from `from` on do so without a gap, at most `most`.
  static std::uint64_t run_in_all(std::span<const Marked> all, ItemIndex from, std::uint64_t most);

  /// A block as stored: one byte when all alike, else four items to a byte.
  std::string encode(std::uint64_t block) const;
  /// False when the bytes cannot be this block's.
  [[nodiscard]] bool decode(std::uint64_t block, std::string_view bytes);
  /// Of a job that may have grown since its total was read: what is beyond that is left out.
  [[nodiscard]] bool decode_known_part(std::uint64_t block, std::string_view bytes);

  void hash(Hasher& hasher) const;

  /// Frees a part of the memory of blocks that nobody needs any more; true: there is nothing left of them. All at once
  /// would take milliseconds.
  bool free_some();

 private:
  static constexpr std::size_t kWords = kBlockItems / 32;
  using Words = std::array<std::uint64_t, kWords>;
  struct Block {
    std::array<std::uint16_t, 4> counts{};
    std::unique_ptr<Words> words;  // null when all alike
  };

  std::uint64_t block_size(std::uint64_t block) const;
  ItemMark uniform_mark(const Block& block) const;
  ItemMark mark_at(const Block& block, std::uint64_t offset) const;
  std::uint64_t hits(std::uint64_t block, std::size_t word, ItemMark mark) const;
  static std::uint64_t hits_in_all(std::span<const Marked> all, std::uint64_t block, std::size_t word);

  std::uint64_t total_ = 0;
  std::vector<Block> blocks_;
  std::array<std::uint64_t, 4> counts_{};
};

}  // namespace drover
