#include "store/manifest_chunks.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "store/manifest.h"
#include "store/memory_store.h"

namespace drover {
namespace {

/// Counts what is asked of it.
class CountingStore : public MemoryStore {
 public:
  Result<ManifestChunk> chunk(ManifestId manifest, ItemIndex item) override {
    ++read;
    return MemoryStore::chunk(manifest, item);
  }
  std::uint64_t read = 0;
};

constexpr std::size_t kItemBytes = 1000;

std::string text_of(std::uint64_t item, std::string_view list) {
  std::string text = concat(list, " ", item, " ");
  text.resize(kItemBytes, 'x');
  return text;
}

ManifestId write_list(Store& store, std::uint64_t items, std::string_view list) {
  auto writer = ManifestWriter::begin(store);
  for (std::uint64_t i = 0; i < items; ++i) EXPECT_TRUE((*writer)->add(text_of(i, list)));
  return (*writer)->finish().value_or(WrittenManifest{}).id;
}

TEST(ManifestChunks, AChunkIsReadOnceHoweverManyAskForItsItems) {
  CountingStore store;
  const ManifestId one = write_list(store, 2000, "one");
  const ManifestId two = write_list(store, 2000, "two");
  const auto chunks = std::make_shared<ManifestChunks>(std::size_t{64} << 20);
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 2000; i += 7) {
      for (const auto& [list, name] : {std::pair(one, "one"), std::pair(two, "two")}) {
        ManifestReader reader(store, list, {ManifestKind::list, 2000, 0}, chunks);
        EXPECT_EQ(reader.item(ItemIndex{i}).value_or(""), text_of(i, name));
      }
    }
  }
  EXPECT_EQ(store.read, 2 * ((2000 * (kItemBytes + 2) + kPackBytes - 1) / kPackBytes));
}

TEST(ManifestChunks, WhatWasNotUsedForLongestGoes) {
  CountingStore store;
  const ManifestId list = write_list(store, 2000, "list");
  ManifestChunks chunks(2 * kPackBytes + kPackBytes / 2);
  const auto ask = [&](std::uint64_t item) {
    const std::uint64_t before = store.read;
    const auto found = chunks.find(store, list, ItemIndex{item});
    EXPECT_TRUE(found);
    EXPECT_TRUE(found && (*found)->item(ItemIndex{item}) == text_of(item, "list"));
    return store.read != before;
  };
  EXPECT_TRUE(ask(0));
  EXPECT_TRUE(ask(1000));
  EXPECT_FALSE(ask(1));
  EXPECT_TRUE(ask(1999));
  EXPECT_FALSE(ask(2));
  EXPECT_TRUE(ask(1001));
}

TEST(ManifestChunks, WhatIsDamagedIsSaidAndNotKept) {
  CountingStore store;
  const ManifestId list = write_list(store, 3, "list");
  ManifestChunks chunks(kPackBytes);
  EXPECT_FALSE(chunks.find(store, ManifestId{list.value + 1}, ItemIndex{0}));
  EXPECT_FALSE(UnpackedChunk::unpack({ItemIndex{0}, 3, Bytes{"no frame"}}));
  const auto good = store.chunk(list, ItemIndex{0});
  ASSERT_TRUE(good);
  EXPECT_TRUE(UnpackedChunk::unpack(*good));
  EXPECT_FALSE(UnpackedChunk::unpack({good->first, good->count + 1, good->data}));
}

}  // namespace
}  // namespace drover
