#include "core/jobs/item_blocks.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace drover {
namespace {

// What free_some() frees at a time.
constexpr std::size_t kFreedWords = 1024;
constexpr std::size_t kFreedBlocks = 32 * kFreedWords;

constexpr std::uint64_t kLowBits = 0x5555555555555555;

// One bit, at each item's low position, for the items of a word that carry `mark`.
std::uint64_t matches(std::uint64_t word, ItemMark mark) {
  const std::uint64_t pattern = kLowBits * static_cast<std::uint64_t>(mark);
  const std::uint64_t different = word ^ pattern;
  return ~(different | (different >> 1)) & kLowBits;
}

// Four items to a byte, and never one byte: that is how a block of one value is told from a packed one.
std::size_t packed_bytes(std::uint64_t items) {
  return std::max<std::size_t>(2, (items + 3) / 4);
}

void clear_from(std::string& packed, std::uint64_t item) {
  for (; item < packed.size() * 4; ++item) {
    auto& byte = packed[item / 4];
    byte = static_cast<char>(static_cast<unsigned char>(byte) & ~(3U << (item % 4 * 2)));
  }
}

}  // namespace

ItemBlocks::ItemBlocks(std::uint64_t total) : total_(total), blocks_((total + kBlockItems - 1) / kBlockItems) {
  counts_[0] = total;
  for (std::uint64_t block = 0; block < blocks_.size(); ++block) {
    blocks_[block].counts[0] = static_cast<std::uint16_t>(block_size(block));
  }
}

std::uint64_t ItemBlocks::block_size(std::uint64_t block) const {
  return std::min(kBlockItems, total_ - block * kBlockItems);
}

ItemMark ItemBlocks::uniform_mark(const Block& block) const {
  for (std::size_t mark = 0; mark < 4; ++mark) {
    if (block.counts[mark] != 0) return static_cast<ItemMark>(mark);
  }
  return ItemMark::pending;
}

ItemMark ItemBlocks::mark_at(const Block& block, std::uint64_t offset) const {
  if (!block.words) return uniform_mark(block);
  return static_cast<ItemMark>(((*block.words)[offset / 32] >> (offset % 32 * 2)) & 3);
}

void ItemBlocks::grow(std::uint64_t total) {
  DROVER_CHECK(total >= total_, "a job never loses items");
  const std::uint64_t in_last = total_ % kBlockItems;
  if (in_last > 0 && total > total_) {
    Block& last = blocks_.back();
    const ItemMark before = uniform_mark(last);
    if (!last.words && before != ItemMark::pending) {
      last.words = std::make_unique<Words>();
      last.words->fill(kLowBits * static_cast<std::uint64_t>(before));
    }
    for (std::uint64_t offset = in_last; last.words && offset < kBlockItems; ++offset) {
      (*last.words)[offset / 32] &= ~(std::uint64_t{3} << (offset % 32 * 2));
    }
  }
  const std::uint64_t old_blocks = blocks_.size();
  counts_[0] += total - total_;
  blocks_.resize((total + kBlockItems - 1) / kBlockItems);
  if (in_last > 0) {
    const std::uint64_t in_block = std::min(kBlockItems, total - (old_blocks - 1) * kBlockItems);
    blocks_[old_blocks - 1].counts[0] += static_cast<std::uint16_t>(in_block - in_last);
  }
  total_ = total;
  for (std::uint64_t block = old_blocks; block < blocks_.size(); ++block) {
    blocks_[block].counts[0] = static_cast<std::uint16_t>(block_size(block));
  }
}

ItemMark ItemBlocks::get(ItemIndex item) const {
  DROVER_CHECK(item.value < total_, "item index is outside its job");
  return mark_at(blocks_[block_of(item)], item.value % kBlockItems);
}

void ItemBlocks::set(ItemIndex item, ItemMark mark) {
  const ItemMark before = get(item);
  if (before == mark) return;
  Block& block = blocks_[block_of(item)];
  if (!block.words) {
    block.words = std::make_unique<Words>();
    block.words->fill(kLowBits * static_cast<std::uint64_t>(before));
  }
  const std::uint64_t offset = item.value % kBlockItems;
  std::uint64_t& word = (*block.words)[offset / 32];
  const std::uint64_t shift = offset % 32 * 2;
  word = (word & ~(std::uint64_t{3} << shift)) | (static_cast<std::uint64_t>(mark) << shift);

  const auto from = static_cast<std::size_t>(before);
  const auto to = static_cast<std::size_t>(mark);
  --counts_[from];
  ++counts_[to];
  --block.counts[from];
  ++block.counts[to];
  if (block.counts[to] == block_size(block_of(item))) block.words.reset();
}

std::optional<ItemIndex> ItemBlocks::find(ItemMark mark, ItemIndex from) const {
  if (from.value >= total_ || count(mark) == 0) return std::nullopt;
  std::uint64_t offset = from.value % kBlockItems;
  for (std::uint64_t b = block_of(from); b < blocks_.size(); ++b, offset = 0) {
    const Block& block = blocks_[b];
    if (block.counts[static_cast<std::size_t>(mark)] == 0) continue;
    if (!block.words) return ItemIndex{b * kBlockItems + offset};
    for (std::size_t w = offset / 32; w < kWords; ++w) {
      std::uint64_t hits = matches((*block.words)[w], mark);
      if (w == offset / 32) hits &= ~std::uint64_t{0} << (offset % 32 * 2);
      if (hits == 0) continue;
      const std::uint64_t found = b * kBlockItems + w * 32 + static_cast<std::uint64_t>(std::countr_zero(hits)) / 2;
      if (found < total_) return ItemIndex{found};
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::uint64_t ItemBlocks::run_length(ItemMark mark, ItemIndex from, std::uint64_t most) const {
  const std::uint64_t until = most < total_ - from.value ? from.value + most : total_;
  std::uint64_t at = from.value;
  while (at < until) {
    const Block& block = blocks_[at / kBlockItems];
    const std::uint64_t end = std::min(until, (at / kBlockItems + 1) * kBlockItems);
    if (!block.words) {
      if (uniform_mark(block) != mark) break;
      at = end;
      continue;
    }
    for (; at < end; ++at) {
      if (mark_at(block, at % kBlockItems) != mark) return at - from.value;
    }
  }
  return at - from.value;
}

std::uint64_t ItemBlocks::count_before(ItemMark mark, ItemIndex to) const {
  const std::uint64_t until = std::min(to.value, total_);
  std::uint64_t count = 0;
  for (std::uint64_t block = 0; block < until / kBlockItems; ++block) {
    count += blocks_[block].counts[static_cast<std::size_t>(mark)];
  }
  const std::uint64_t rest = until % kBlockItems;
  for (std::size_t word = 0; word * 32 < rest; ++word) {
    std::uint64_t found = hits(until / kBlockItems, word, mark);
    if (rest - word * 32 < 32) found &= (std::uint64_t{1} << ((rest - word * 32) * 2)) - 1;
    count += static_cast<std::uint64_t>(std::popcount(found));
  }
  return count;
}

// As matches(), of one word of a block.
std::uint64_t ItemBlocks::hits(std::uint64_t block, std::size_t word, ItemMark mark) const {
  const Block& it = blocks_[block];
  if (it.words) return matches((*it.words)[word], mark);
  return uniform_mark(it) == mark ? kLowBits : 0;
}

std::uint64_t ItemBlocks::hits_in_all(std::span<const Marked> all, std::uint64_t block, std::size_t word) {
  std::uint64_t found = kLowBits;
  for (const Marked& it : all) found &= it.blocks->hits(block, word, it.mark);
  return found;
}

std::optional<ItemIndex> ItemBlocks::find_in_all(std::span<const Marked> all, ItemIndex from, ItemIndex to) {
  std::uint64_t offset = from.value % kBlockItems;
  for (std::uint64_t block = block_of(from); block * kBlockItems < to.value; ++block, offset = 0) {
    const bool has_none = std::ranges::any_of(all, [&](const Marked& it) {
      return it.blocks->blocks_[block].counts[static_cast<std::size_t>(it.mark)] == 0;
    });
    if (has_none) continue;
    for (std::size_t word = offset / 32; word < kWords; ++word) {
      std::uint64_t found = hits_in_all(all, block, word);
      if (word == offset / 32) found &= ~std::uint64_t{0} << (offset % 32 * 2);
      if (found == 0) continue;
      const ItemIndex item{block * kBlockItems + word * 32 + static_cast<std::uint64_t>(std::countr_zero(found)) / 2};
      if (item >= to) return std::nullopt;
      return item;
    }
  }
  return std::nullopt;
}

std::uint64_t ItemBlocks::run_in_all(std::span<const Marked> all, ItemIndex from, std::uint64_t most) {
  const std::uint64_t total = all.front().blocks->total_;
  const std::uint64_t until = most < total - from.value ? from.value + most : total;
  std::uint64_t at = from.value;
  while (at < until) {
    const std::uint64_t missed = ~hits_in_all(all, at / kBlockItems, at % kBlockItems / 32) & kLowBits;
    const std::uint64_t first = missed >> (at % 32 * 2);
    const std::uint64_t here = std::min(32 - at % 32, until - at);
    if (first == 0) {
      at += here;
      continue;
    }
    return std::min(at + static_cast<std::uint64_t>(std::countr_zero(first)) / 2, until) - from.value;
  }
  return at - from.value;
}

std::string ItemBlocks::encode(std::uint64_t block) const {
  const Block& it = blocks_[block];
  if (!it.words) return std::string(1, static_cast<char>(uniform_mark(it)));
  std::string bytes(packed_bytes(block_size(block)), '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>((*it.words)[i / 8] >> (i % 8 * 8));
  }
  // Past the end of the job the bits are whatever the block was filled with: they must not reach the store.
  clear_from(bytes, block_size(block));
  return bytes;
}

bool ItemBlocks::decode_known_part(std::uint64_t block, std::string_view bytes) {
  if (block >= blocks_.size()) return true;
  const std::size_t known = packed_bytes(block_size(block));
  if (bytes.size() < known) return decode(block, bytes);
  std::string part(bytes.substr(0, known));
  clear_from(part, block_size(block));
  return decode(block, part);
}

bool ItemBlocks::decode(std::uint64_t block, std::string_view bytes) {
  if (block >= blocks_.size()) return false;
  Block fresh;
  const std::uint64_t size = block_size(block);
  if (bytes.size() == 1) {
    if (static_cast<unsigned char>(bytes[0]) > 3) return false;
    fresh.counts[static_cast<unsigned char>(bytes[0])] = static_cast<std::uint16_t>(size);
  } else {
    if (bytes.size() != packed_bytes(size)) return false;
    fresh.words = std::make_unique<Words>();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      (*fresh.words)[i / 8] |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (i % 8 * 8);
    }
    for (std::size_t mark = 1; mark < 4; ++mark) {
      for (const std::uint64_t word : *fresh.words) {
        fresh.counts[mark] += static_cast<std::uint16_t>(std::popcount(matches(word, static_cast<ItemMark>(mark))));
      }
    }
    const auto touched = std::uint64_t{fresh.counts[1]} + fresh.counts[2] + fresh.counts[3];
    if (touched > size) return false;
    fresh.counts[0] = static_cast<std::uint16_t>(size - touched);
  }
  Block& old = blocks_[block];
  for (std::size_t mark = 0; mark < 4; ++mark) counts_[mark] += fresh.counts[mark] - std::uint64_t{old.counts[mark]};
  old = std::move(fresh);
  return true;
}

bool ItemBlocks::free_some() {
  std::size_t words = 0;
  for (std::size_t i = 0; i < kFreedBlocks && words < kFreedWords && !blocks_.empty(); ++i) {
    if (blocks_.back().words) ++words;
    blocks_.pop_back();
  }
  return blocks_.empty();
}

void ItemBlocks::hash(Hasher& hasher) const {
  hasher.add(total_);
  for (std::uint64_t block = 0; block < blocks_.size(); ++block) {
    if (!blocks_[block].words && uniform_mark(blocks_[block]) == ItemMark::pending) continue;
    hasher.add(block);
    hasher.add(encode(block));
  }
}

}  // namespace drover
