// What the SQLite store says when its file is not as it should be, and that it leaves such a file alone.
#include "store/sqlite_store.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "base/random.h"
#include "base/text.h"
#include "core/core.h"
#include "sqlite/database.h"
#include "store/manifest.h"
#include "store/memory_store.h"

namespace {
std::atomic<int> g_syncs = 0;
}  // namespace

// Stands before the C library's, for SQLite too.
extern "C" int fdatasync(int file) {
  ++g_syncs;
  return static_cast<int>(syscall(SYS_fdatasync, file));
}
extern "C" int fsync(int file) {
  ++g_syncs;
  return static_cast<int>(syscall(SYS_fsync, file));
}

namespace drover {
namespace {

/// A job as a store keeps one.
Job stored_job(std::uint64_t id, std::uint64_t total) {
  Job job{{.name = "a"}, JobId{id}};
  job.uuid.bytes[0] = static_cast<std::uint8_t>(id);
  job.total = total;
  return job;
}

class SqliteStoreFile : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/drover-store-XXXXXX";
    folder_ = mkdtemp(pattern);
    path_ = folder_ + "/drover.db";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write_file(const std::string& content) const { std::ofstream(path_, std::ios::binary) << content; }
  std::string read_file() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void run_sql(const std::string& sql) const {
    auto db = Database::open(path_, OpenMode::create, [](std::int64_t) { return false; });
    ASSERT_TRUE(db);
    auto done = db->run(sql);
    ASSERT_TRUE(done) << done.error().message;
  }
  std::int64_t count(const std::string& sql) const {
    auto db = Database::open(path_, OpenMode::read_only, [](std::int64_t) { return false; });
    return db->number(sql).value();
  }
  std::int64_t rows_of(const std::string& table) const { return count("SELECT count(*) FROM " + table); }
  /// A list of some chunks.
  static ManifestId finished_list(Store& store, Lasting lasting = Lasting::with_the_job) {
    auto writer = ManifestWriter::begin(store);
    for (int i = 0; i < 50'000; ++i) EXPECT_TRUE((*writer)->add("item " + std::to_string(i * 7919)));
    return (*writer)->finish(lasting)->id;
  }
  static void sweep_all(Store& store) {
    for (int steps = 0; steps < 1000; ++steps) {
      const auto more = store.sweep_deleted(100);
      ASSERT_TRUE(more) << more.error().message;
      if (!*more) return;
    }
    FAIL() << "it never ends";
  }
  ErrorCode error_of_opening() const {
    auto store = open_sqlite_store(path_);
    EXPECT_FALSE(store);
    return store ? ErrorCode::stopped : store.error().code;
  }

  std::string folder_;
  std::string path_;
};

Batch batch_with_counters(std::int64_t now_ms) {
  Batch batch;
  batch.mutations.emplace_back(PutCounters{Counters{.now_ms = now_ms}});
  return batch;
}

TEST_F(SqliteStoreFile, AFileThatIsNoDatabaseIsLeftAlone) {
  const std::string content(5000, 'x');
  write_file(content);
  EXPECT_EQ(error_of_opening(), ErrorCode::damaged);
  EXPECT_EQ(read_file(), content);
}

TEST_F(SqliteStoreFile, ADatabaseOfSomebodyElseIsLeftAlone) {
  run_sql("CREATE TABLE theirs(a)");
  const std::string before = read_file();
  EXPECT_EQ(error_of_opening(), ErrorCode::damaged);
  EXPECT_EQ(read_file(), before);
}

TEST_F(SqliteStoreFile, ANewerSchemaIsNamedAsSuch) {
  ASSERT_TRUE(open_sqlite_store(path_));
  run_sql("UPDATE schema_version SET version = 99");
  EXPECT_EQ(error_of_opening(), ErrorCode::newer_schema);
  const auto reader = open_sqlite_reader(path_);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::newer_schema);
}

TEST_F(SqliteStoreFile, AMissingFolderIsAnErrorThatNamesIt) {
  const auto store = open_sqlite_store(folder_ + "/missing/drover.db");
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find("/missing/drover.db"), std::string::npos);
}

TEST_F(SqliteStoreFile, ADamagedRowIsAnErrorAndNotAGuess) {
  {
    auto store = open_sqlite_store(path_);
    ASSERT_TRUE(store);
    Batch batch;
    batch.mutations.emplace_back(PutJob{stored_job(1, 3)});
    ASSERT_TRUE((*store)->commit(batch));
  }
  run_sql("UPDATE jobs SET state = 'nonsense'");
  auto store = open_sqlite_store(path_);
  ASSERT_TRUE(store);
  const auto loaded = (*store)->load([](const Mutation&) -> Result<void> { return {}; });
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::damaged);
  EXPECT_NE(loaded.error().message.find("state"), std::string::npos);
}

TEST_F(SqliteStoreFile, TheLongestAndLargestComeFirstAsWhenAllAreSorted) {
  auto store = open_sqlite_store(path_);
  ASSERT_TRUE(store);
  MemoryStore plain;
  Random random(7);
  std::vector<std::uint64_t> items(30'000);
  std::iota(items.begin(), items.end(), 0U);
  for (std::size_t i = items.size() - 1; i > 0; --i) std::swap(items[i], items[random.below(i + 1)]);
  ASSERT_TRUE((*store)->commit({{PutJob{stored_job(1, items.size())}}}));
  for (std::size_t begin = 0; begin < items.size(); begin += 1000) {
    Batch batch;
    for (std::size_t i = begin; i < begin + 1000; ++i) {
      // Few values, so that many are alike.
      batch.mutations.emplace_back(
          AddAttempt{Attempt{.job = JobId{1},
                             .item = ItemIndex{items[i]},
                             .attempt = AttemptNumber{1},
                             .wall_us = static_cast<std::int64_t>(random.below(40)),
                             .peak_memory_kib = static_cast<std::int64_t>(random.below(1'000'000)),
                             .settled = !random.one_in(10)}});
    }
    ASSERT_TRUE((*store)->commit(batch));
    ASSERT_TRUE(plain.commit(batch));
  }
  // What is taken up again does not count, and its block need not know that.
  Batch again;
  for (std::uint64_t item = 0; item < 30'000; item += 3) {
    again.mutations.emplace_back(UnsettleAttempt{JobId{1}, ItemIndex{item}, AttemptNumber{1}});
  }
  ASSERT_TRUE((*store)->commit(again));
  ASSERT_TRUE(plain.commit(again));
  const auto reader = open_sqlite_reader(path_);
  ASSERT_TRUE(reader);
  for (const AttemptOrder order : {AttemptOrder::longest, AttemptOrder::largest, AttemptOrder::busiest}) {
    for (const auto& [skip, limit] : {std::pair(0, 10), std::pair(0, 0), std::pair(25, 100), std::pair(17'000, 5000)}) {
      const auto found = (*reader)->settled_by(JobId{1}, order, skip, limit);
      const auto expected = plain.settled_by(JobId{1}, order, skip, limit);
      ASSERT_TRUE(found && expected);
      const auto item = [](const Attempt& it) { return it.item.value; };
      EXPECT_TRUE(std::ranges::equal(*found, *expected, {}, item, item)) << skip << " " << limit;
    }
  }
  EXPECT_LT(rows_of("peaks"), 10);
}

TEST_F(SqliteStoreFile, AForgottenWorkersNameStaysForAsLongAsAnAttemptMayReferToIt) {
  auto store = open_sqlite_store(path_);
  ASSERT_TRUE(store);
  Batch batch;
  for (const std::uint64_t number : {1U, 2U}) {
    Job job = stored_job(number, 1);
    job.created_ms = static_cast<std::int64_t>(number) * 1000;
    batch.mutations.emplace_back(PutJob{job});
    batch.mutations.emplace_back(AddAttempt{Attempt{.job = job.id,
                                                    .item = ItemIndex{0},
                                                    .attempt = AttemptNumber{1},
                                                    .worker = WorkerId{number},
                                                    .settled = true}});
    batch.mutations.emplace_back(PutWorker{Worker{.id = WorkerId{number}, .name = concat("w", number)}});
  }
  batch.mutations.emplace_back(ForgetWorker{FormerWorker{WorkerId{1}, "w1", 1500}});
  ASSERT_TRUE((*store)->commit(batch));
  EXPECT_EQ(rows_of("workers"), 1);
  sweep_all(**store);
  EXPECT_EQ(count("SELECT group_concat(worker, ' ') = 'w1 w2' FROM attempts"), 1);
  EXPECT_EQ(count("SELECT group_concat(worker, ' ') = 'w1 w2' FROM items"), 1);
  const auto reader = open_sqlite_reader(path_);
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->worker_name(WorkerId{1}).value(), "w1");
  EXPECT_EQ((*reader)->worker_name(WorkerId{2}).value(), "w2");
  EXPECT_EQ((*reader)->worker_name(WorkerId{3}).value(), "");
  ASSERT_TRUE((*store)->commit({{DeleteJob{JobId{1}}}}));
  sweep_all(**store);
  EXPECT_EQ(rows_of("former_workers"), 0) << "the oldest job was created after it was forgotten";
  EXPECT_EQ(count("SELECT group_concat(worker, ' ') = 'w2' FROM attempts"), 1);
}

TEST_F(SqliteStoreFile, ManifestsThatNoJobCameToReferToAreSweptAtOpen) {
  {
    auto store = open_sqlite_store(path_);
    ASSERT_TRUE(store);
    auto writer = ManifestWriter::begin(**store);
    ASSERT_TRUE(writer);
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE((*writer)->add("item"));
    ASSERT_TRUE((*writer)->finish());
    ASSERT_TRUE((*store)->add_definition("{}"));
  }
  ASSERT_TRUE(open_sqlite_store(path_));
  auto db = Database::open(path_, OpenMode::read_only, [](std::int64_t) { return false; });
  ASSERT_TRUE(db);
  for (const char* table : {"manifests", "manifest_chunks", "definitions"}) {
    EXPECT_EQ(db->number(std::string("SELECT count(*) FROM ") + table).value(), 0) << table;
  }
}

TEST_F(SqliteStoreFile, ACommitWaitsForSomebodyElsesWriteLockAndSaysSo) {
  std::atomic<int> notices = 0;
  auto store = open_sqlite_store(path_, [&](std::int64_t) { ++notices; });
  ASSERT_TRUE(store);
  auto other = Database::open(path_, OpenMode::create, [](std::int64_t) { return true; });
  ASSERT_TRUE(other);
  ASSERT_TRUE(other->run("BEGIN IMMEDIATE"));
  std::atomic<bool> committed = false;
  std::thread thread([&] {
    EXPECT_TRUE((*store)->commit(batch_with_counters(5)));
    committed = true;
  });
  while (notices == 0) std::this_thread::yield();
  EXPECT_FALSE(committed);
  EXPECT_TRUE(other->run("COMMIT"));
  thread.join();
  EXPECT_TRUE(committed);
}

TEST_F(SqliteStoreFile, AReaderSeesWhatWasCommittedWhileAWriterIsOpen) {
  auto store = open_sqlite_store(path_);
  ASSERT_TRUE(store);
  auto reader = open_sqlite_reader(path_);
  ASSERT_TRUE(reader);
  EXPECT_TRUE((*reader)->jobs()->empty());
  Batch batch;
  batch.mutations.emplace_back(PutJob{stored_job(1, 3)});
  ASSERT_TRUE((*store)->commit(batch));
  EXPECT_EQ((*reader)->jobs()->size(), 1U);
}

TEST_F(SqliteStoreFile, ADamagedChunkOfAManifestIsAnError) {
  auto store = open_sqlite_store(path_);
  ASSERT_TRUE(store);
  auto writer = ManifestWriter::begin(**store);
  ASSERT_TRUE(writer);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE((*writer)->add("item " + std::to_string(i)));
  const auto written = (*writer)->finish();
  ASSERT_TRUE(written);
  run_sql("UPDATE manifest_chunks SET data = x'0102030405'");
  auto reader = open_sqlite_reader(path_);
  ASSERT_TRUE(reader);
  auto manifest = ManifestReader::open(**reader, written->id);
  ASSERT_TRUE(manifest);
  const auto item = manifest->item(ItemIndex{3});
  ASSERT_FALSE(item);
  EXPECT_EQ(item.error().code, ErrorCode::damaged);
}

TEST_F(SqliteStoreFile, AListThatBreaksOffIsSweptWithoutARestart) {
  auto store = open_sqlite_store(path_);
  ASSERT_TRUE(store);
  {
    auto writer = ManifestWriter::begin(**store);
    ASSERT_TRUE(writer);
    const std::string item(100'000, 'x');
    for (int i = 0; i < 200; ++i) ASSERT_TRUE((*writer)->add(item + std::to_string(i)));
    while (rows_of("manifest_chunks") == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const ManifestId other = finished_list(**store);
  sweep_all(**store);
  EXPECT_EQ(rows_of("manifests"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM manifest_chunks WHERE manifest <> " + std::to_string(other.value)), 0);
  EXPECT_EQ(rows_of("deleted_manifests"), 0);
}

TEST_F(SqliteStoreFile, WhatNoJobRefersToGoesWhenItIsOld) {
  auto store = open_sqlite_store(path_);
  ASSERT_TRUE(store);
  const ManifestId unused = finished_list(**store);
  const ManifestId claimed = finished_list(**store);
  const ManifestId used = finished_list(**store);
  ASSERT_TRUE((*store)->add_definition("{}"));
  const DefinitionId definition = (*store)->add_definition("{}").value();
  const auto being_written = ManifestWriter::begin(**store);
  ASSERT_TRUE(being_written);
  Batch batch;
  Job job = stored_job(1, 50'000);
  job.definition = definition;
  job.manifest = used;
  batch.mutations.emplace_back(PutJob{job});
  ASSERT_TRUE((*store)->commit(batch));

  ASSERT_TRUE((*store)->drop_unused(1000, 500));
  ASSERT_TRUE((*store)->drop_unused(1499, 500));
  EXPECT_EQ(rows_of("manifests"), 4) << "seen unused for 499 ms";
  EXPECT_EQ((*store)->claim_manifest(claimed).value().items, 50'000U);
  ASSERT_TRUE((*store)->drop_unused(1500, 500));
  EXPECT_EQ(rows_of("manifests"), 3);
  EXPECT_EQ((*store)->claim_manifest(unused).error().code, ErrorCode::not_found);
  EXPECT_EQ(rows_of("definitions"), 1);
  EXPECT_TRUE((*store)->claim_manifest(claimed)) << "somebody was about to refer to it";
  sweep_all(**store);
  EXPECT_EQ(count("SELECT count(DISTINCT manifest) FROM manifest_chunks"), 2);

  ASSERT_TRUE((*store)->commit({{DeleteJob{JobId{1}}}}));
  ASSERT_TRUE((*store)->drop_unused(2000, 500));
  ASSERT_TRUE((*store)->drop_unused(2500, 500));
  EXPECT_EQ(rows_of("manifests"), 1) << "the one that is being written";
  EXPECT_EQ(rows_of("definitions"), 0);
}

TEST_F(SqliteStoreFile, AListIsGoneForSubmittersBeforeItsFirstChunkIs) {
  auto store = open_sqlite_store(path_);
  ASSERT_TRUE(store);
  Batch batch;
  Job job = stored_job(1, 50'000);
  job.manifest = finished_list(**store);
  batch.mutations.emplace_back(PutJob{job});
  ASSERT_TRUE((*store)->commit(batch));
  ASSERT_TRUE((*store)->commit({{DeleteJob{JobId{1}}}}));
  const std::int64_t chunks = rows_of("manifest_chunks");
  ASSERT_GT(chunks, 1);
  ASSERT_TRUE((*store)->drop_unused(0, 0));
  ASSERT_TRUE((*store)->drop_unused(1, 0));
  for (bool more = true; more; more = (*store)->sweep_deleted(1).value()) {
    EXPECT_TRUE(rows_of("manifests") == 0 || rows_of("manifest_chunks") == chunks);
  }
  EXPECT_EQ(rows_of("manifest_chunks"), 0);
}

TEST_F(SqliteStoreFile, AListThatIsNamedToAClientIsSyncedBefore) {
  auto store = open_sqlite_store(path_);
  ASSERT_TRUE(store);
  const int before = g_syncs;
  finished_list(**store);
  EXPECT_EQ(g_syncs, before) << "the job's own batch does it";
  finished_list(**store, Lasting::at_once);
  EXPECT_GT(g_syncs, before);
}

TEST_F(SqliteStoreFile, AFileThatCannotGivePagesBackIsNotAskedForEver) {
  ASSERT_TRUE(open_sqlite_store(path_));
  run_sql("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM;");
  run_sql("CREATE TABLE big(a); INSERT INTO big VALUES(zeroblob(40000000)); DROP TABLE big;");
  ASSERT_GT(count("PRAGMA freelist_count"), 4096);
  auto store = open_sqlite_store(path_);
  ASSERT_TRUE(store);
  sweep_all(**store);
}

TEST_F(SqliteStoreFile, FewPagesAreGivenBackWhileCommitsCome) {
  ASSERT_TRUE(open_sqlite_store(path_));
  run_sql("CREATE TABLE big(a); INSERT INTO big VALUES(zeroblob(40000000)); DROP TABLE big;");
  const std::int64_t free = count("PRAGMA freelist_count");
  auto store = open_sqlite_store(path_);
  ASSERT_TRUE(store);
  ASSERT_TRUE((*store)->commit({{PutJob{stored_job(1, 1)}}}));
  EXPECT_FALSE((*store)->sweep_deleted(2000).value()) << "not again before the next sweep";
  EXPECT_LT(count("PRAGMA freelist_count"), free);
  EXPECT_GT(count("PRAGMA freelist_count"), free - 300);
  sweep_all(**store);
  EXPECT_LE(count("PRAGMA freelist_count"), 4096);
  EXPECT_LT(std::filesystem::file_size(path_), 17'000'000) << "without another commit";
}

TEST_F(SqliteStoreFile, OldAttemptsOfAJobOnAStreamGoAlsoBehindOnesThatStay) {
  auto opened = open_sqlite_store(path_);
  ASSERT_TRUE(opened);
  Store& store = **opened;
  Job job = stored_job(1, 500);
  job.stream = "photos";
  Batch batch;
  batch.mutations.emplace_back(PutJob{job});
  for (std::uint64_t item = 0; item < 500; ++item) {
    Attempt attempt{.job = job.id, .item = ItemIndex{item}, .attempt = AttemptNumber{1}};
    attempt.ended_ms = item % 100 == 0 || item >= 400 ? 2000 : 1000;
    batch.mutations.emplace_back(AddAttempt{attempt});
  }
  ASSERT_TRUE(store.commit(batch));
  int steps = 0;
  while (store.drop_old_attempts(1500, 50).value()) ++steps;
  EXPECT_EQ(rows_of("attempt_rows"), 104) << "100 young ones, and four that took long";
  EXPECT_LT(steps, 12);
}

TEST_F(SqliteStoreFile, WhatADeletedJobLeftIsSweptInSmallSteps) {
  auto opened = open_sqlite_store(path_);
  ASSERT_TRUE(opened);
  Store& store = **opened;
  Batch batch;
  ManifestId shared;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    auto writer = ManifestWriter::begin(store);
    ASSERT_TRUE(writer);
    for (int i = 0; i < 50'000; ++i) ASSERT_TRUE((*writer)->add("item " + std::to_string(i * 7919)));
    const auto written = (*writer)->finish();
    ASSERT_TRUE(written);
    if (id == 1) shared = written->id;
    Job job = stored_job(id, 50'000);
    job.definition = store.add_definition("{}").value();
    job.manifest = id == 3 ? shared : written->id;
    batch.mutations.emplace_back(PutJob{job});
    for (std::uint64_t item = 0; item < 500; ++item) {
      batch.mutations.emplace_back(
          AddAttempt{Attempt{.job = job.id, .item = ItemIndex{item}, .attempt = AttemptNumber{1}, .settled = true}});
      batch.mutations.emplace_back(PutOpenItem{OpenItem{.job = job.id, .item = ItemIndex{item + 1000}}});
    }
    batch.mutations.emplace_back(PutBlock{{job.id, 0, Bytes{std::string(1, '\2')}}});
  }
  ASSERT_TRUE(store.commit(batch));
  ASSERT_TRUE(store.commit({{DeleteJob{JobId{1}}, DeleteJob{JobId{2}}}}));
  ASSERT_TRUE(opened->get());
  opened->reset();
  opened = open_sqlite_store(path_);  // and the server has been away meanwhile
  ASSERT_TRUE(opened);

  const std::string rows = "SELECT (SELECT count(*) FROM attempt_rows) + (SELECT count(*) FROM open_items)";
  std::int64_t before = count(rows);
  EXPECT_EQ(before, 3000);
  int steps = 0;
  while (true) {
    const auto more = (*opened)->sweep_deleted(100);
    ASSERT_TRUE(more) << more.error().message;
    if (!*more) break;
    const std::int64_t now = count(rows);
    EXPECT_LE(before - now, 101);
    before = now;
    ASSERT_LT(++steps, 1000);
  }
  EXPECT_GT(steps, 19);
  EXPECT_EQ(before, 1000);
  for (const char* table : {"attempt_rows", "open_items", "blocks", "peaks", "jobs"}) {
    EXPECT_EQ(count(std::string("SELECT count(DISTINCT job) FROM ") + table), 1) << table;
  }
  EXPECT_EQ(count("SELECT count(*) FROM definitions"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM deleted_jobs"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM deleted_manifests"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM manifests WHERE manifest = " + std::to_string(shared.value)), 1)
      << "the third job has it too";
  EXPECT_EQ(count("SELECT count(DISTINCT manifest) FROM manifest_chunks"), 1);
}

TEST_F(SqliteStoreFile, WhatMessagesSaidGoesWithThem) {
  auto opened = open_sqlite_store(path_);
  ASSERT_TRUE(opened);
  Core core;
  std::uint64_t ticket = 0;
  std::vector<Receipt> receipts;
  const auto apply = [&](const Command& command) {
    core.apply(Ticket{++ticket}, command, 1'000);
    for (const Answer& answer : core.take_answers()) {
      const auto* received = std::get_if<MessagesReceived>(&answer.effect);
      if (received == nullptr) continue;
      for (const auto& it : received->messages) receipts.push_back({received->stream, it.message, it.receive});
    }
  };
  const auto commit = [&] { ASSERT_TRUE((*opened)->commit({core.take_mutations()})); };
  const auto send = [&](const std::string& stream, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      apply(SendMessages{stream, {{.content = std::make_shared<const std::string>("content"), .bytes = 7}}});
    }
  };
  for (const char* name : {"purged", "dropped", "sparse"}) {
    apply(SetStream{StreamSpec{.name = name}, std::nullopt});
    send(name, name == std::string("sparse") ? 1'000 : 50);
  }
  // Some of what goes was never stored.
  apply(PurgeStream{"purged"});
  apply(DropStream{"dropped"});
  commit();
  sweep_all(**opened);
  EXPECT_EQ(rows_of("message_contents"), 1'000);

  while (receipts.size() < 1'000) apply(ReceiveMessages{.stream = "sparse", .most = 10});
  for (std::size_t i = 0; i < receipts.size(); ++i) {
    if (i % 100 != 0) apply(DeleteMessages{"sparse", {receipts[i]}});
  }
  commit();
  ASSERT_TRUE((*opened)->drop_unused(0, 1'000));
  sweep_all(**opened);
  EXPECT_EQ(rows_of("message_contents"), 10) << "only what is still there";
  EXPECT_EQ(rows_of("open_messages"), 10);
}

}  // namespace
}  // namespace drover
