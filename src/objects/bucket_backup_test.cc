#include "objects/bucket_backup.h"

#include <map>

#include "objects/bucket_fixture.h"
#include "objects/data_files.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

class BucketBackupTest : public testing::Test {
 protected:
  BucketBackupTest() {
    fs::create_directories(server("old"));
    fs::create_directories(server("place"));
    fs::create_directories(server("new"));
  }
  ~BucketBackupTest() override { fs::remove_all(root_); }

  std::string server(const std::string& name) const { return concat(root_, "/", name); }

  std::unique_ptr<BucketStore> open(const std::string& name) {
    auto store = BucketStore::open(server(name) + "/objects", {.now_ms = [] { return 1'700'000'000'000; }});
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
  /// Copies what is held to "new".
  void copy(BucketBackup& backup) {
    auto done = backup.add_files([&](const std::string& path, const std::string& name) -> Result<void> {
      EXPECT_TRUE(backup.owns(name)) << name;
      if (auto made = backup.make_folder(server("new"), name); !made) return made;
      std::error_code error;
      fs::copy_file(path, concat(server("new"), "/", name), error);
      if (error) return fail(ErrorCode::not_found, concat(path, ": ", error.message()));
      return {};
    });
    ASSERT_TRUE(done) << done.error().message;
  }
  std::size_t files_of(const std::string& name) const {
    std::size_t count = 0;
    for (const auto& it : fs::recursive_directory_iterator(server(name) + "/objects")) {
      count += it.is_regular_file() && !it.path().filename().string().starts_with("index.db") ? 1 : 0;
    }
    return count;
  }

  const std::string root_ = concat(fs::temp_directory_path().string(), "/drover-bucket-backup-", ::getpid());
};

TEST_F(BucketBackupTest, WhatIsThereWhenItBeginsComesBackWhateverHappensMeanwhile) {
  auto store = open("old");
  Client client(*store);
  ASSERT_TRUE(client.create("b"));
  std::map<std::string, std::string> objects;
  for (int i = 0; i < 20; ++i) objects[concat("k", i)] = bytes_of(i, i % 2 == 0 ? 100 : kLarge);
  for (const auto& [key, bytes] : objects) ASSERT_TRUE(client.put({.bucket = "b", .key = key}, bytes));
  const UploadName upload{"b", "parts", client.begin("b", "parts")};
  ASSERT_TRUE(client.part(upload, 1, bytes_of(50, kLarge)));

  auto backup = std::make_unique<BucketBackup>();
  ASSERT_TRUE(backup->hold(server("old"), server("place")));
  EXPECT_EQ(backup->count(), 20U);
  for (const auto& [key, bytes] : objects) ASSERT_TRUE(client.remove("b", key));
  ASSERT_TRUE(client.abort(upload));
  ASSERT_TRUE(client.put({.bucket = "b", .key = "later"}, bytes_of(99, kLarge)));
  copy(*backup);

  BucketBackup back;
  ASSERT_TRUE(back.restored(server("new"), 1'800'000'000'000));
  EXPECT_EQ(back.count(), 20U);
  EXPECT_EQ(files_of("new"), 11U);
  auto other = open("new");
  Client reader(*other);
  for (const auto& [key, bytes] : objects) EXPECT_TRUE(reader.get("b", key) == bytes) << key;
  EXPECT_FALSE(other->head({"b", "later", {}}));
  ASSERT_TRUE(reader.part(upload, 2, "end"));
  ASSERT_TRUE(reader.complete(upload, {1, 2}));
  EXPECT_TRUE(reader.get("b", "parts") == bytes_of(50, kLarge) + "end");
  // The space of what was deleted is free once the copy is made.
  for (int i = 0; i < 1000 && files_of("old") != 1; ++i) ::usleep(10'000);
  EXPECT_EQ(files_of("old"), 1U);
}

TEST_F(BucketBackupTest, NoFileIsRemovedWhileItIsHeld) {
  auto store = open("old");
  BucketBackup backup;
  ASSERT_TRUE(backup.hold(server("old"), server("place")));
  const auto refused = SweepLock::remove_files(server("old") + "/objects");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::in_use);
  ASSERT_TRUE(SweepLock::keep_files(server("old") + "/objects")) << "two backups at a time";
  copy(backup);
  EXPECT_TRUE(SweepLock::remove_files(server("old") + "/objects"));
}

TEST_F(BucketBackupTest, NumbersOfTheRestoredStoreAreOnesThatTheOtherNeverGave) {
  {
    auto store = open("old");
    Client client(*store);
    ASSERT_TRUE(client.create("b"));
    ASSERT_TRUE(client.set_rules("b", {{.id = "r", .stream = "s", .target = "t", .events = {"s3:ObjectCreated:*"}}}));
    ASSERT_TRUE(client.put({.bucket = "b", .key = "a"}, "a"));
  }
  BucketBackup backup;
  ASSERT_TRUE(backup.hold(server("old"), server("place")));
  copy(backup);
  ASSERT_TRUE(backup.restored(server("new"), 1'800'000'000'000));
  const auto last_of = [&](const std::string& name) {
    auto store = open(name);
    Client client(*store);
    EXPECT_TRUE(client.put({.bucket = "b", .key = "next"}, "b"));
    const auto events = store->events(0, 100);
    EXPECT_TRUE(events && !events->empty());
    return events->back();
  };
  const ObjectEvent there = last_of("old");
  const ObjectEvent here = last_of("new");
  EXPECT_EQ(there.key, "next");
  EXPECT_EQ(here.key, "next");
  EXPECT_GT(here.number, there.number + 1'000'000'000);
  EXPECT_GT(here.sequence, there.sequence + 1'000'000'000);
}

TEST_F(BucketBackupTest, AFileThatIsMissingIsNamed) {
  {
    auto store = open("old");
    Client client(*store);
    ASSERT_TRUE(client.create("b"));
    ASSERT_TRUE(client.put({.bucket = "b", .key = "a"}, bytes_of(1, kLarge)));
  }
  BucketBackup backup;
  ASSERT_TRUE(backup.hold(server("old"), server("place")));
  copy(backup);
  ASSERT_TRUE(fs::remove(concat(server("new"), "/objects/", DataFiles::name_of(1))));
  EXPECT_EQ(backup.restored(server("new"), 1).error().code, ErrorCode::damaged);

  ASSERT_TRUE(fs::remove(concat(server("old"), "/objects/", DataFiles::name_of(1))));
  fs::remove(server("place") + "/index.db");
  BucketBackup again;
  ASSERT_TRUE(again.hold(server("old"), server("place")));
  const auto added = again.add_files([](const std::string& path, const std::string&) -> Result<void> {
    if (fs::exists(path)) return {};
    return fail(ErrorCode::not_found, path);
  });
  ASSERT_FALSE(added);
  EXPECT_TRUE(added.error().message.contains(DataFiles::name_of(1))) << added.error().message;
}

TEST_F(BucketBackupTest, AServerWithoutBucketsHasNone) {
  BucketBackup backup;
  ASSERT_TRUE(backup.hold(server("old"), server("place")));
  EXPECT_TRUE(backup.add_files([](const std::string&, const std::string&) -> Result<void> {
    return fail(ErrorCode::bad_input, "there is nothing");
  }));
  EXPECT_TRUE(backup.restored(server("new"), 1));
  EXPECT_EQ(backup.count(), 0U);
}

TEST(BucketBackupNames, OnlyItsOwnFilesAreTaken) {
  const BucketBackup backup;
  for (const char* name : {"objects/index.db", "objects/00000000/1", "objects/00000001/4096"}) {
    EXPECT_TRUE(backup.owns(name)) << name;
  }
  for (const char* name :
       {"drover.db", "keys.json", "objects/index.db-wal", "objects/00000000/4096", "objects/00000000/01",
        "objects/00000000/x", "objects/../keys.json", "objects/00000000/../1", "objects/1", "objects/",
        "/objects/00000000/1", "objects/00000000/1/", "objects/00000000/", ""}) {
    EXPECT_FALSE(backup.owns(name)) << name;
  }
}

}  // namespace
}  // namespace drover
