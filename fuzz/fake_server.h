// A server behind a face, for the targets: one small job, everything answered at once.
#pragma once

#include <optional>

#include "base/check.h"
#include "ports/backend.h"
#include "store/memory_store.h"

namespace drover {

class FakeBackend : public Backend {
 public:
  struct Intake : ItemIntake {
    explicit Intake(std::vector<std::string>& into) : items(into) { items.clear(); }
    Result<void> add(std::string_view item) override {
      items.emplace_back(item);
      return {};
    }
    Result<NewManifest> finish(Lasting) override { return NewManifest{ManifestId{1}, items.size()}; }
    std::vector<std::string>& items;
  };
  struct Text : HttpBodySource {
    Result<std::string> next() override { return std::string(); }
  };

  FakeBackend() {
    job.total = 3;
    job.name = "job";
    job.id = JobId{1};
  }

  void post(Command command, std::function<void(Result<Effect>)> answered) override {
    if (std::holds_alternative<SubmitJob>(command)) return answered(JobAccepted{JobId{2}});
    if (std::holds_alternative<ReopenJob>(command)) return answered(JobReopened{1});
    if (std::holds_alternative<Watch>(command)) return answered(Watched{});
    if (std::holds_alternative<AskWhy>(command)) return answered(WhyFacts{});
    if (std::holds_alternative<AddRevision>(command)) return answered(RevisionAdded{1});
    answered(JobCancelled{});
  }
  void remove_job(JobId, std::function<void(Result<Effect>)> answered) override { answered(JobForgotten{}); }
  Result<std::vector<std::string>> explain_fleet(const std::string&) override {
    return std::vector<std::string>{"nothing to do"};
  }
  std::vector<std::string> fleet_troubles(const std::string&) override { return {}; }
  void later(const Holder&, std::function<void()> work) override { work(); }
  void resolve_image(const std::string&, ImageResolver::Resolved resolved) override {
    resolved(fail(ErrorCode::io, "nobody knows"));
  }
  Result<DefinitionId> add_definition(std::string_view) override { return DefinitionId{1}; }
  Result<std::unique_ptr<ItemIntake>> begin_items() override { return std::make_unique<Intake>(items_taken); }
  Result<NewManifest> add_range(std::int64_t, std::uint64_t count) override {
    DROVER_CHECK(count > 0 && count <= kMostItems, "a range has items, and not too many");

    return NewManifest{ManifestId{1}, count};
  }
  Result<ManifestInfo> claim_manifest(ManifestId) override { return fail(ErrorCode::not_found, "there is none"); }
  StoreReader& ledger() override { return store; }
  std::vector<JobView> list_jobs(const JobFilter&) override { return {{job, {.pending = 3}}}; }
  Result<JobView> find_job(const std::string& reference) override {
    if (reference != job.name) return fail(ErrorCode::not_found, "there is no such job");
    return JobView{job, {.pending = 3}};
  }
  std::optional<Job> find_job(JobId) override { return job; }
  std::shared_ptr<const Stream> find_stream(const std::string& name) override {
    const auto found = store.stream(name);
    return found && *found ? std::make_shared<const Stream>(**found) : nullptr;
  }
  std::vector<std::shared_ptr<const Stream>> list_streams(const std::string& prefix) override {
    std::vector<std::shared_ptr<const Stream>> out;
    for (const Stream& it : store.streams().value()) {
      if (it.name.starts_with(prefix)) out.push_back(std::make_shared<const Stream>(it));
    }
    return out;
  }
  void ask_sql(std::string, std::uint64_t, const Holder&,
               std::function<void(const Result<SqlAnswer>&)> answered) override {
    answered(SqlAnswer{.columns = {"one"}, .rows = {{SqlCell{std::int64_t{1}}}}});
  }
  Result<void> follow_events(EventId, const std::string&, const Holder&, const std::string&,
                             const std::function<std::shared_ptr<HttpStream>()>& begin) override {
    begin();
    return {};
  }
  Result<std::string> definition(DefinitionId) override { return "{}"; }
  Result<std::vector<ItemView>> items(const Job& of, const ItemQuestion& question) override {
    std::vector<ItemView> out;
    for (std::uint64_t i = question.from.value; i < of.total && out.size() < question.limit; ++i) {
      out.push_back({.item = ItemIndex{i}, .state = "pending", .last = std::nullopt, .text = "\xff text"});
    }
    return out;
  }
  Result<std::vector<ItemView>> ended_items(const Job& of, AttemptOrder, std::uint64_t skip,
                                            std::uint64_t limit) override {
    return items(of, {ItemIndex{skip}, limit, ""});
  }
  Result<std::vector<Attempt>> attempts(JobId, ItemIndex) override { return std::vector<Attempt>{}; }
  Result<std::unique_ptr<HttpBodySource>> log(const LogQuestion&, const std::vector<Attempt>&) override {
    return std::make_unique<Text>();
  }
  Result<void> log_of_running(const LogQuestion&, const std::function<std::shared_ptr<HttpStream>()>& begin) override {
    begin();
    return {};
  }
  void search(const SearchQuestion&, HttpReply reply) override {
    reply.send({.status = 200, .headers = {{"Content-Type", "application/x-ndjson"}}, .body = "{}\n"});
  }
  Result<std::vector<WorkerView>> workers() override { return std::vector<WorkerView>(1); }

  Job job;
  MemoryStore store;
  std::vector<std::string> items_taken;
};

/// Keeps the answer, of which there must be one.
class FakeExchange : public HttpExchange {
 public:
  void resume(std::move_only_function<void()> work) override { work(); }
  void send(HttpResponse response) override { answer = std::move(response); }
  void send(HttpResponse head, std::unique_ptr<HttpBodySource>) override { answer = std::move(head); }
  void send(HttpResponse head, HttpFilePart) override { answer = std::move(head); }
  std::shared_ptr<HttpStream> stream(HttpResponse head) override {
    answer = std::move(head);
    return nullptr;
  }
  bool peer_is_gone() const override { return false; }
  void when_peer_leaves(std::function<void()> /*call*/) override {}

  std::optional<HttpResponse> answer;
};

}  // namespace drover
