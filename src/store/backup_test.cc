#include "store/backup.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/text.h"
#include "core/core.h"
#include "sqlite/database.h"
#include "store/sqlite_store.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRestoredMs = 1'800'000'000'000;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

class BackupFile : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/drover-backup-XXXXXX";
    folder_ = mkdtemp(pattern);
    fs::create_directories(server("old") + "/logs");
    store_ = std::move(*open_sqlite_store(server("old") + "/drover.db"));
    file_ = folder_ + "/backup";
  }
  void TearDown() override {
    store_.reset();
    fs::remove_all(folder_);
  }

  std::string root(const std::string& name) const { return folder_ + "/" + name; }
  std::string server(const std::string& name) const { return root(name) + "/server"; }

  void add_job() {
    Job job{{.name = "a"}, JobId{1}};
    job.total = 300;
    Batch batch;
    batch.mutations.emplace_back(PutJob{job});
    for (std::uint64_t item = 0; item < 300; ++item) {
      batch.mutations.emplace_back(AddAttempt{Attempt{.job = JobId{1},
                                                      .item = ItemIndex{item},
                                                      .attempt = AttemptNumber{1},
                                                      .started_ms = static_cast<std::int64_t>(item * 7919)}});
    }
    ASSERT_TRUE(store_->commit(batch));
  }
  /// What people would miss.
  std::string rows_in(const std::string& name) const {
    auto db = Database::open(server(name) + "/drover.db", OpenMode::read_only, [](std::int64_t) { return false; });
    std::string out;
    for (const char* sql : {"SELECT quote(name) || total || state FROM jobs",
                            "SELECT group_concat(quote(item) || quote(attempt) || quote(started_ms) || quote(state) || "
                            "quote(wall_us)) FROM attempt_rows"}) {
      auto rows = db->prepare(sql);
      while (rows && rows->step().value_or(false)) out += rows->text(0);
    }
    return out;
  }
  Result<Backup> restore(const std::string& name, const std::string& file) const {
    return restore_backup(root(name), file, kRestoredMs);
  }

  std::string folder_;
  std::string file_;
  std::unique_ptr<Store> store_;
};

TEST_F(BackupFile, ATurnedBitIsRefusedOrChangesNothing) {
  add_job();
  write_file(server("old") + "/logs/000001.zst", std::string(3000, 'l') + "and the end");
  ASSERT_TRUE(write_backup(root("old"), file_));
  const std::string whole = content_of(file_);
  const std::string rows = rows_in("old");
  ASSERT_GT(rows.size(), 3000U);
  int refused = 0;
  constexpr std::size_t kFlips = 120;
  for (std::size_t i = 0; i < kFlips; ++i) {
    std::string turned = whole;
    const std::size_t at = i * whole.size() / kFlips;
    turned[at] = static_cast<char>(turned[at] ^ (1 << (i % 8)));
    write_file(folder_ + "/turned", turned);
    if (!restore("new", folder_ + "/turned")) {
      ++refused;
      EXPECT_FALSE(fs::exists(server("new")));
      continue;
    }
    EXPECT_EQ(rows_in("new"), rows) << "byte " << at;
    EXPECT_EQ(content_of(server("new") + "/logs/000001.zst"), std::string(3000, 'l') + "and the end") << "byte " << at;
    fs::remove_all(root("new"));
  }
  EXPECT_GT(refused, 80);
}

TEST_F(BackupFile, OneWithoutItsSumsIsRefused) {
  add_job();
  ASSERT_TRUE(write_backup(root("old"), file_));
  ASSERT_EQ(std::system(concat("cd ", folder_, " && mkdir out && tar -C out -xf backup --zstd && rm out/SHA256SUMS && ",
                               "tar -C out --zstd -cf bare drover.db")
                            .c_str()),
            0);
  const auto restored = restore("new", folder_ + "/bare");
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code, ErrorCode::damaged);
  EXPECT_NE(restored.error().message.find("SHA256SUMS"), std::string::npos);
}

TEST_F(BackupFile, TheSumsAreThoseThatEverybodyReckons) {
  add_job();
  write_file(server("old") + "/logs/000001.zst", "some");
  ASSERT_TRUE(write_backup(root("old"), file_));
  EXPECT_EQ(std::system(concat("cd ", folder_, " && mkdir out && cd out && tar --zstd -xf ../backup && ",
                               "sha256sum --quiet --strict -c SHA256SUMS && test $(wc -l < SHA256SUMS) = 2")
                            .c_str()),
            0);
}

TEST_F(BackupFile, TheSumsOfVeryManyFilesAreInSeveralListsThatFitEachOther) {
  constexpr int kFiles = 900;
  for (int i = 0; i < kFiles; ++i)
    write_file(concat(server("old"), "/logs/", 1'000'000 + i, ".zst"), concat("log ", i));
  ASSERT_TRUE(write_backup(root("old"), file_));
  const auto restored = restore("new", file_);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->files, static_cast<std::uint64_t>(kFiles));
  EXPECT_EQ(content_of(server("new") + "/logs/1000899.zst"), "log 899");
  const std::string unpacked =
      concat("cd ", folder_, " && rm -rf out && mkdir out && tar -C out --zstd -xf backup && cd out && ");
  EXPECT_EQ(std::system(concat(unpacked, "sha256sum --quiet --strict -c SHA256SUMS.1 && sha256sum --quiet --strict -c ",
                               "SHA256SUMS && test $(wc -l < SHA256SUMS) -lt ", kFiles)
                            .c_str()),
            0);
  // A log of the first list is exchanged for another.
  ASSERT_EQ(std::system(concat(unpacked, "tar --zstd -tf ../backup > ../order && echo other > logs/1000000.zst && ",
                               "tar --zstd -cf ../changed --no-recursion -T ../order")
                            .c_str()),
            0);
  const auto changed = restore("newer", folder_ + "/changed");
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, ErrorCode::damaged);
}

TEST_F(BackupFile, AServerThatHasDoneNothingYetIsRestored) {
  ASSERT_TRUE(write_backup(root("old"), file_));
  ASSERT_TRUE(restore("new", file_));
  auto store = open_sqlite_store(server("new") + "/drover.db");
  ASSERT_TRUE(store) << store.error().message;
  Durable durable;
  const auto loaded = (*store)->load([&](const Mutation& put) { return durable.restore(put); });
  EXPECT_TRUE(loaded) << loaded.error().message;
}

TEST_F(BackupFile, OnlySegmentsAreTakenFromTheFolderOfLogs) {
  write_file(server("old") + "/logs/000001.zst", "some");
  write_file(server("old") + "/logs/.nfs00001", "left");
  write_file(server("old") + "/logs/x.zst", "somebody's");
  write_file(server("old") + "/logs/.zst", "nameless");
  const auto made = write_backup(root("old"), file_);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->files, 1U);
  const auto restored = restore("new", file_);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->files, 1U);
  EXPECT_EQ(content_of(server("new") + "/logs/000001.zst"), "some");
}

TEST_F(BackupFile, WhatStandsBesideItIsLeftAlone) {
  for (const char* end : {".ledger", ".partial"}) write_file(file_ + end, "somebody's");
  fs::create_directories(root("new") + "/server.restoring");
  write_file(root("new") + "/server.restoring/file", "somebody's");
  ASSERT_TRUE(write_backup(root("old"), file_));
  ASSERT_TRUE(restore("new", file_));
  for (const char* end : {".ledger", ".partial"}) EXPECT_EQ(content_of(file_ + end), "somebody's") << end;
  EXPECT_EQ(content_of(root("new") + "/server.restoring/file"), "somebody's");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 5)
      << "old, new, the backup, and the two that were there";
}

TEST_F(BackupFile, NobodyElseCanReadTheCopyWhileItIsMade) {
  // A backup that fails half-way would show what it leaves; one that waits shows what it works in.
  const mode_t before = ::umask(0);
  add_job();
  ASSERT_EQ(::mkfifo((server("old") + "/logs/000001.zst").c_str(), 0600), 0);
  std::thread backup([&] { EXPECT_TRUE(write_backup(root("old"), file_)); });
  // It has copied the ledger when it opens the pipe, and stays in there until somebody opens the other end.
  std::string copy;
  while (copy.empty()) {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().string();
      if (name.starts_with(file_) && fs::exists(name + "/whole")) copy = name;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  struct stat about{};
  EXPECT_EQ(::stat(copy.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0700U);
  EXPECT_TRUE(fs::exists(copy + "/drover.db"));
  {
    std::ofstream other_end(server("old") + "/logs/000001.zst");
  }
  backup.join();
  ::umask(before);
  ASSERT_EQ(::stat(file_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600U);
}

/// A core, and what was said to it and committed.
struct Talk {
  Core core;
  Store& store;
  std::int64_t now_ms;
  std::uint64_t polls = 0;

  Effect say(const Command& command) {
    core.apply(Ticket{1}, command, ++now_ms);
    EXPECT_TRUE(store.commit({core.take_mutations()}));
    for (const Answer& answer : core.take_answers()) {
      if (answer.to == Ticket{1}) return answer.effect;  // others are for whoever listens
    }
    ADD_FAILURE() << "nobody answered";
    return Refused{};
  }
  Lease lease(WorkerId worker, std::uint64_t incarnation) {
    const Effect said =
        say(Poll{.report = {worker, incarnation, {}, {}, {}}, .number = PollNumber{++polls}, .want = 1});
    const auto* answer = std::get_if<PollAnswer>(&said);
    EXPECT_TRUE(answer != nullptr && answer->leases.size() == 1);
    return answer != nullptr && !answer->leases.empty() ? answer->leases.front() : Lease{};
  }
  Effect report(WorkerId worker, std::uint64_t incarnation, const Lease& lease) {
    EndedAttempt ended{.token = {lease.grant, lease.first}};
    return say(Report{worker, incarnation, {ended}, {}, {}});
  }
  std::uint64_t succeeded() const { return core.durable().jobs.at(JobId{1}).succeeded; }
};

TEST_F(BackupFile, ARestoredServerTakesNothingThatWasSaidToTheOldOneForItsOwn) {
  constexpr std::uint64_t kIncarnation = 77;
  Talk old{Core{}, *store_, 1000};
  const RegisterWorker hello{"w", kIncarnation, 60'000};
  const WorkerId worker = std::get<WorkerRegistered>(old.say(hello)).worker;
  SubmitJob submit{{.name = "job"}, 10};
  submit.uuid.bytes[0] = 1;
  old.say(submit);
  const Lease before = old.lease(worker, kIncarnation);
  ASSERT_TRUE(write_backup(root("old"), file_));
  const Lease after = old.lease(worker, kIncarnation);
  const ManifestId list = store_->begin_manifest().value();
  const DefinitionId definition = store_->add_definition("{}").value();

  std::vector<GrantId> first_grants;
  for (const std::string name : {"new", "newer"}) {
    const auto restored = restore_backup(root(name), file_, kRestoredMs + (name == "new" ? 0 : 60'000));
    ASSERT_TRUE(restored) << restored.error().message;
    auto store = open_sqlite_store(server(name) + "/drover.db");
    ASSERT_TRUE(store);
    Durable durable;
    ASSERT_TRUE((*store)->load([&](const Mutation& put) { return durable.restore(put); }));
    Talk here{Core(std::move(durable), 2000), **store, 2000};
    // It does not know that it speaks with another server.
    for (const Lease& lease : {before, after}) {
      EXPECT_TRUE(std::holds_alternative<Refused>(here.report(worker, kIncarnation, lease)));
    }
    EXPECT_EQ(std::get<WorkerRegistered>(here.say(hello)).worker, worker);
    const Lease again = here.lease(worker, kIncarnation);
    EXPECT_EQ(again.first, before.first);
    const Lease next = here.lease(worker, kIncarnation);
    EXPECT_EQ(next.first, after.first) << "the same item, handed out by both";
    for (const Lease& lease : {before, after}) here.report(worker, kIncarnation, lease);
    EXPECT_EQ(here.succeeded(), 0U) << "a late report of the old server's grant changes nothing";
    here.report(worker, kIncarnation, next);
    EXPECT_EQ(here.succeeded(), 1U);

    EXPECT_GT((*store)->begin_manifest().value(), ManifestId{list.value + 1'000'000});
    EXPECT_GT((*store)->add_definition("{}").value(), DefinitionId{definition.value + 1'000'000});
    submit.uuid.bytes[0] = 2;
    EXPECT_GT(std::get<JobAccepted>(here.say(submit)).job, JobId{1'000'000});
    EXPECT_GT(std::get<WorkerRegistered>(here.say(RegisterWorker{"v", 5, 60'000})).worker, WorkerId{1'000'000});
    first_grants.push_back(again.grant);
  }
  EXPECT_GT(first_grants[1].value, first_grants[0].value + 10'000'000)
      << "nor are the two of them taken for each other";
}

}  // namespace
}  // namespace drover
