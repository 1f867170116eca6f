#include "api/logs/log_walk.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "api/logs/log_lines.h"
#include "api/logs/stream_name.h"
#include "base/text.h"

namespace drover::aws {
namespace {

std::unexpected<Error> none() {
  return fail(ErrorCode::not_found, "not in this test");
}

/// Attempts and running items, in memory. What a walk does not need fails.
class FakeLedger : public StoreReader {
 public:
  void end(const Job& job, std::uint64_t item, std::uint32_t attempt = 1, std::int64_t at_ms = 0) {
    Attempt& row = attempts_[{job.id, ItemIndex{item}, AttemptNumber{attempt}}];
    row.item = ItemIndex{item};
    row.attempt = AttemptNumber{attempt};
    row.started_ms = row.ended_ms = at_ms;
  }
  void start(const Job& job, std::uint64_t item, std::uint32_t attempt) {
    OpenItem& open = open_[{job.id, ItemIndex{item}}];
    open.item = ItemIndex{item};
    open.attempts = attempt;
    open.grant = GrantId{1};
    open.counted = true;
  }
  /// Called once, after the running items have been read.
  std::function<void()> after_open_items;

  Result<void> each_open_item(JobId job, ItemSpan items, const std::function<void(const OpenItem&)>& take) override {
    for (const auto& [key, open] : open_) {
      if (key.first == job && open.item >= items.first && open.item <= items.last) take(open);
    }
    if (after_open_items) std::exchange(after_open_items, nullptr)();
    return {};
  }
  Result<void> each_attempt(JobId job, ItemIndex from, const std::function<bool(const Attempt&)>& take) override {
    for (auto it = attempts_.lower_bound({job, from, AttemptNumber{}}); it != attempts_.end(); ++it) {
      if (std::get<0>(it->first) != job || !take(it->second)) break;
    }
    return {};
  }
  Result<std::vector<Worker>> workers() override { return none(); }
  Result<std::string> definition(DefinitionId) override { return none(); }
  Result<std::vector<Job>> jobs() override { return none(); }
  Result<Job> job(JobId) override { return none(); }
  Result<std::vector<EndedAt>> jobs_ended_by(std::int64_t, EndedAt, std::uint64_t) override { return none(); }
  Result<bool> has_job_created_by(std::int64_t) override { return none(); }
  Result<std::string> worker_name(WorkerId) override { return none(); }
  Result<std::vector<Queue>> queues() override { return none(); }
  Result<std::vector<ShareRecord>> shares() override { return none(); }
  Result<std::vector<NamedDefinition>> named_definitions() override { return none(); }
  Result<std::vector<Fleet>> fleets() override { return none(); }
  Result<std::vector<Machine>> machines() override { return none(); }
  Result<std::vector<Document>> documents(const std::string&) override { return none(); }
  Result<std::optional<Document>> document(const std::string&, const std::string&) override { return none(); }
  Result<std::vector<drover::Account>> accounts() override { return none(); }
  Result<std::vector<drover::Stream>> streams() override { return none(); }
  Result<std::optional<drover::Stream>> stream(const std::string& /*name*/) override { return none(); }
  Result<std::optional<std::string>> message(MessageNumber /*number*/) override { return none(); }
  Result<void> each_item_message(JobId /*job*/, ItemSpan /*items*/,
                                 const std::function<bool(ItemIndex, std::string)>& /*take*/) override {
    return none();
  }
  Result<std::optional<DeadLetter>> dead_letter(MessageNumber /*number*/) override { return none(); }
  Result<void> each_event(EventId, const std::function<bool(const Event&)>&) override { return none(); }
  Result<EventId> newest_event() override { return none(); }
  Result<ManifestInfo> manifest(ManifestId) override { return none(); }
  Result<ManifestChunk> chunk(ManifestId, ItemIndex) override { return none(); }
  Result<std::vector<Attempt>> settled_by(JobId, AttemptOrder, std::uint64_t, std::uint64_t) override { return none(); }
  Result<std::vector<FailedAlike>> failures(JobId) override { return none(); }
  Result<void> each_block(JobId, ItemSpan, const std::function<void(const BlockRecord&)>&) override { return none(); }
  Result<std::optional<Grant>> grant(GrantId) override { return none(); }

 private:
  std::map<std::tuple<JobId, ItemIndex, AttemptNumber>, Attempt> attempts_;
  std::map<std::pair<JobId, ItemIndex>, OpenItem> open_;
};

/// Jobs over such a ledger.
class FakeBackend : public Backend {
 public:
  FakeLedger fake;

  Job& add_job(std::uint64_t total) {
    const JobId id{jobs_.empty() ? 1 : jobs_.rbegin()->first.value + 1};
    Job& job = jobs_[id].job;
    job.id = id;
    job.uuid.bytes[14] = static_cast<std::uint8_t>(id.value >> 8U);
    job.uuid.bytes[15] = static_cast<std::uint8_t>(id.value);
    job.total = total;
    by_uuid_[job.uuid.text()] = id;
    return job;
  }
  void end(const Job& job, std::uint64_t item, std::uint32_t attempt = 1) { fake.end(job, item, attempt); }
  void start(const Job& job, std::uint64_t item, std::uint32_t attempt = 1) {
    fake.start(job, item, attempt);
    ++jobs_.at(job.id).in_hands;
  }
  void remove(const Job& job) { jobs_.erase(job.id); }

  std::vector<JobView> list_jobs(const JobFilter& filter) override {
    std::vector<JobView> out;
    for (auto it = jobs_.rbegin(); it != jobs_.rend() && out.size() < filter.limit; ++it) {
      if (filter.suits(it->second)) out.push_back(it->second);
    }
    return out;
  }
  Result<JobView> find_job(const std::string& reference) override {
    const auto known = by_uuid_.find(reference);
    const auto found = known == by_uuid_.end() ? jobs_.end() : jobs_.find(known->second);
    if (found == jobs_.end()) return none();
    return found->second;
  }
  Result<std::vector<Attempt>> attempts(JobId job, ItemIndex item) override {
    std::vector<Attempt> out;
    auto read = fake.each_attempt(job, item, [&](const Attempt& row) {
      if (row.item == item) out.push_back(row);
      return row.item == item;
    });
    if (!read) return pass(read);
    return out;
  }
  StoreReader& ledger() override { return fake; }

  void post(Command, std::function<void(Result<Effect>)>) override {}
  void remove_job(JobId, std::function<void(Result<Effect>)>) override {}
  Result<std::vector<std::string>> explain_fleet(const std::string&) override { return none(); }
  std::vector<std::string> fleet_troubles(const std::string&, const FleetRules&) override { return {}; }
  void later(const Holder&, std::function<void()>) override {}
  void resolve_image(const std::string&, ImageResolver::Resolved) override {}
  void search(const SearchQuestion&, HttpReply) override {}
  std::optional<Job> find_job(JobId) override { return std::nullopt; }
  std::shared_ptr<const Stream> find_stream(const std::string&) override { return nullptr; }
  std::vector<std::shared_ptr<const Stream>> list_streams(const std::string&) override { return {}; }
  void ask_sql(std::string, std::uint64_t, const Holder&, std::function<void(const Result<SqlAnswer>&)>) override {}
  Result<void> follow_events(EventId, const std::string&, const Holder&, const std::string&,
                             const std::function<std::shared_ptr<HttpStream>()>&) override {
    return none();
  }
  Result<DefinitionId> add_definition(std::string_view) override { return none(); }
  Result<std::unique_ptr<ItemIntake>> begin_items() override { return none(); }
  Result<NewManifest> add_range(std::int64_t, std::uint64_t) override { return none(); }
  Result<ManifestInfo> claim_manifest(ManifestId) override { return none(); }
  Result<std::string> definition(DefinitionId) override { return none(); }
  Result<std::vector<ItemView>> items(const Job&, const ItemQuestion&) override { return none(); }
  Result<std::vector<ItemView>> ended_items(const Job&, AttemptOrder, std::uint64_t, std::uint64_t) override {
    return none();
  }
  Result<std::unique_ptr<HttpBodySource>> log(const LogQuestion&, const std::vector<Attempt>&) override {
    return none();
  }
  Result<void> log_of_running(const LogQuestion&, const std::function<std::shared_ptr<HttpStream>()>&) override {
    return none();
  }
  Result<std::vector<WorkerView>> workers() override { return none(); }

 private:
  std::map<JobId, JobView> jobs_;
  std::map<std::string, JobId> by_uuid_;
};

struct Walked {
  std::vector<std::string> tasks;
  std::uint64_t looks = 0;
};

Walked walk(FakeBackend& backend, const WalkScope& scope = {}, const WalkPosition& from = {}) {
  LogWalk it(backend, scope, from);
  Walked out;
  while (!it.is_over()) {
    if (it.has_task()) {
      out.tasks.push_back(it.take().position().text());
    } else {
      EXPECT_TRUE(it.look());
      ++out.looks;
    }
  }
  return out;
}

using Tasks = std::vector<std::string>;

TEST(WalkPosition, IsReadAsItIsWritten) {
  const WalkPosition it{JobId{7}, ItemIndex{12}, AttemptNumber{3}, 4};
  EXPECT_EQ(it.text(), "7.12.3.4");
  EXPECT_EQ(WalkPosition::parse("7.12.3.4"), it);
  for (const char* wrong : {"", "x", "7.12.3", "7.12.3.4.5", "0.12.3.4", "7.12.0.4", "7.12.4294967296.4", "7..3.4",
                            "7.12.3.-4", "e/7.12.3.4"}) {
    EXPECT_FALSE(WalkPosition::parse(wrong)) << wrong;
  }
}

TEST(LogWalk, ManyJobsWithoutItemsDoNotHoldItUp) {
  FakeBackend backend;
  for (int i = 0; i < 20'500; ++i) backend.add_job(0);
  backend.end(backend.add_job(1), 0);
  EXPECT_EQ(walk(backend).tasks, Tasks{"20501.0.1.0"});
}

TEST(LogWalk, GoesThroughJobsItemsAndAttemptsInOrder) {
  FakeBackend backend;
  const Job& one = backend.add_job(3);
  backend.end(one, 0, 1);
  backend.end(one, 2, 1);
  backend.end(one, 2, 2);
  backend.start(one, 0, 2);
  backend.start(one, 1, 1);
  backend.add_job(0);
  backend.end(backend.add_job(1), 0);
  EXPECT_EQ(walk(backend).tasks, (Tasks{"1.0.1.0", "1.0.2.0", "1.1.1.0", "1.2.1.0", "1.2.2.0", "3.0.1.0"}));
}

TEST(LogWalk, ResumesAtALineAndOnlyThere) {
  FakeBackend backend;
  const Job& job = backend.add_job(3);
  for (const std::uint64_t item : {0, 1, 2}) backend.end(job, item);
  EXPECT_EQ(walk(backend, {}, {JobId{1}, ItemIndex{1}, AttemptNumber{1}, 40}).tasks, (Tasks{"1.1.1.40", "1.2.1.0"}));
  EXPECT_EQ(walk(backend, {}, {JobId{1}, ItemIndex{1}, AttemptNumber{2}, 40}).tasks, (Tasks{"1.2.1.0"}));
}

TEST(LogWalk, ContinuesWithTheNextJobWhenTheOneOfItsPositionIsGone) {
  FakeBackend backend;
  const Job& one = backend.add_job(1);
  const Job& two = backend.add_job(9);
  const Job& three = backend.add_job(1);
  backend.end(one, 0);
  backend.end(three, 0);
  backend.remove(two);
  EXPECT_EQ(walk(backend, {}, {JobId{2}, ItemIndex{5}, AttemptNumber{1}, 40}).tasks, (Tasks{"3.0.1.0"}));
}

TEST(LogWalk, BehindTheLastItemItsPositionIsTheNextJob) {
  FakeBackend backend;
  backend.end(backend.add_job(1), 0);
  LogWalk it(backend, {}, {});
  ASSERT_TRUE(it.look());
  ASSERT_TRUE(it.has_task());
  it.take();
  EXPECT_EQ(it.position(), WalkPosition{JobId{2}});
}

TEST(LogWalk, FindsRunningItemsHoweverFarApart) {
  FakeBackend backend;
  const Job& job = backend.add_job(1'000'000);
  backend.start(job, 5);
  backend.start(job, 150'000);
  backend.start(job, 999'999);
  backend.end(job, 150'001);
  EXPECT_EQ(walk(backend).tasks, (Tasks{"1.5.1.0", "1.150000.1.0", "1.150001.1.0", "1.999999.1.0"}));
}

TEST(LogWalk, AnAttemptThatEndsMeanwhileIsReadOnce) {
  FakeBackend backend;
  const Job& job = backend.add_job(2);
  backend.start(job, 0);
  backend.start(job, 1);
  backend.fake.after_open_items = [&] { backend.end(job, 1); };
  EXPECT_EQ(walk(backend).tasks, (Tasks{"1.0.1.0", "1.1.1.0"}));
}

TEST(LogWalk, LooksAtABoundedNumberOfRowsAtOnce) {
  FakeBackend backend;
  const Job& job = backend.add_job(25'000);
  for (std::uint64_t item = 0; item < 25'000; ++item) backend.fake.end(job, item, 1, item == 24'000 ? 2000 : 1000);
  WalkScope scope;
  scope.start_ms = 2000;
  const Walked walked = walk(backend, scope);
  EXPECT_EQ(walked.tasks, (Tasks{"1.24000.1.0"}));
  EXPECT_GE(walked.looks, 3);
}

TEST(LogWalk, ReachesEveryJobHoweverManyThereAre) {
  FakeBackend backend;
  for (int i = 0; i < 10'003; ++i) backend.add_job(1);
  Job& old = backend.add_job(1);
  backend.end(old, 0);
  LogWalk first(backend, {}, {});
  std::uint64_t looks = 0;
  for (; !first.has_task() && !first.is_over(); ++looks) ASSERT_TRUE(first.look());
  ASSERT_TRUE(first.has_task());
  EXPECT_EQ(first.position().job, old.id);
  EXPECT_GT(looks, 1);
}

TEST(LogWalk, NamedStreamsAreLookedUp) {
  FakeBackend backend;
  const Job& one = backend.add_job(50'000);
  const Job& two = backend.add_job(1);
  for (std::uint64_t item = 0; item < 50'000; ++item) backend.end(one, item);
  backend.end(two, 0);
  const auto stream = [](const Job& job, std::uint64_t item, std::uint64_t attempt) {
    return log_stream(job, ItemIndex{item}, attempt);
  };
  WalkScope scope;
  scope.streams = {stream(two, 0, 1),      stream(one, 40'000, 1), stream(one, 7, 1),
                   stream(one, 50'000, 1), "other/default/x",      concat("other/default/", one.uuid.text(), ".8")};
  EXPECT_EQ(walk(backend, scope).tasks, (Tasks{"1.7.1.0", "1.40000.1.0", "2.0.1.0"}));
  EXPECT_EQ(walk(backend, scope, {JobId{1}, ItemIndex{40'000}, AttemptNumber{1}, 3}).tasks,
            (Tasks{"1.40000.1.3", "2.0.1.0"}));
  LogWalk it(backend, scope, {});
  ASSERT_TRUE(it.look());
  EXPECT_LT(it.looked_at(), 10);
}

TEST(LogWalk, APrefixChoosesJobsAndStreams) {
  FakeBackend backend;
  const Job& one = backend.add_job(20);
  Job& two = backend.add_job(1);
  two.named_definition = "demo:3";
  for (const std::uint64_t item : {1, 2, 10}) backend.end(one, item);
  backend.end(two, 0);
  const auto with = [&](std::string prefix) {
    WalkScope scope;
    scope.prefix = std::move(prefix);
    return walk(backend, scope).tasks;
  };
  EXPECT_EQ(with("demo/"), (Tasks{"2.0.1.0"}));
  EXPECT_EQ(with("d"), (Tasks{"1.1.1.0", "1.2.1.0", "1.10.1.0", "2.0.1.0"}));
  EXPECT_EQ(with(stream_stem(one)), (Tasks{"1.1.1.0", "1.2.1.0", "1.10.1.0"}));
  EXPECT_EQ(with(stream_stem(one) + ".1"), (Tasks{"1.1.1.0", "1.10.1.0"}));
  EXPECT_EQ(with(concat("demo/default/", one.uuid.text())), Tasks{});
}

TEST(LogLines, SkipsThoseBeforeTheFirstAndStopsWhenTold) {
  LogLines lines(2);
  std::vector<std::uint64_t> taken;
  std::string text = "not JSON\n";
  for (int i = 1; i < 9; ++i)
    text += R"({"time_ms":1,"text":"x"})"
            "\n";
  lines.add(text, [&](const LogLine& line) {
    taken.push_back(line.number);
    return line.number < 5;
  });
  EXPECT_EQ(taken, (std::vector<std::uint64_t>{2, 3, 4, 5}));
  EXPECT_EQ(lines.passed(), 6);
}

}  // namespace
}  // namespace drover::aws
