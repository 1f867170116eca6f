#include "store/ledger_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "store/sqlite_store.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

class LedgerFileTest : public testing::Test {
 protected:
  LedgerFileTest() {
    char place[] = "/tmp/drover-ledger-XXXXXX";
    folder_ = ::mkdtemp(place);
    path_ = folder_ + "/drover.db";
  }
  ~LedgerFileTest() override { fs::remove_all(folder_); }

  std::unique_ptr<Store> open() {
    auto store = open_sqlite_store(path_, nullptr);
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
  static Batch batch(std::uint64_t next_job) {
    PutCounters put;
    put.counters.next_job = next_job;
    return {{put}};
  }

  std::string folder_;
  std::string path_;
};

TEST_F(LedgerFileTest, ACommitToAFileThatWasRemovedIsAnError) {
  for (const std::string suffix : {"", "-wal"}) {
    const auto store = open();
    ASSERT_TRUE(store->commit(batch(1)));
    fs::rename(path_ + suffix, folder_ + "/taken");
    const auto lost = store->commit(batch(2));
    ASSERT_FALSE(lost) << suffix;
    EXPECT_NE(lost.error().message.find(path_ + suffix), std::string::npos) << lost.error().message;
    EXPECT_FALSE(lost.error().next.empty());
    fs::rename(folder_ + "/taken", path_ + suffix);
    EXPECT_TRUE(store->commit(batch(3))) << "it is back";
  }
}

TEST_F(LedgerFileTest, ACommitToAFileThatWasReplacedIsAnError) {
  const auto store = open();
  ASSERT_TRUE(store->commit(batch(1)));
  fs::copy_file(path_, folder_ + "/copy");
  fs::rename(folder_ + "/copy", path_);
  EXPECT_FALSE(store->commit(batch(2)));
}

TEST_F(LedgerFileTest, AnEmptyFileIsNoLedger) {
  EXPECT_TRUE(is_ledger_missing(path_));
  std::ofstream(path_).close();
  EXPECT_TRUE(is_ledger_missing(path_));
  open().reset();
  EXPECT_FALSE(is_ledger_missing(path_));
  std::ofstream(path_, std::ios::trunc) << "this was a ledger once";
  EXPECT_FALSE(is_ledger_missing(path_)) << "damaged is another matter";
}

}  // namespace
}  // namespace drover
