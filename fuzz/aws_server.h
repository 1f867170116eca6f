// A server behind the APIs of AWS, for the targets: the core and a store in memory, with one array job that is always
// there, and one attempt of its first item.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <vector>

#include "core/core.h"
#include "fake_server.h"
#include "wire/definition.h"

namespace drover {

class AwsBackend : public FakeBackend {
 public:
  static constexpr std::int64_t kNowMs = 1'700'000'000'000;
  static constexpr std::string_view kJob = "6f1c1f9e-2f0b-4c53-9d3f-0a8f7f5b1c11";

  AwsBackend() { reset(); }

  /// As it was in the beginning.
  void reset() {
    core_ = Core();
    store = MemoryStore();
    lines = {"one", "two", "three"};
    SubmitJob array;
    array.name = "job";
    array.total = 3;
    array.uuid = Uuid::parse(kJob).value_or(Uuid());
    array.definition = *store.add_definition(definition_to_json({.command = {"true"}}));
    post(array, [](const Result<Effect>& effect) { DROVER_CHECK(effect.has_value(), "a job is accepted"); });
    const Attempt ended{.job = all_jobs().front().id,
                        .item = ItemIndex{0},
                        .attempt = AttemptNumber{1},
                        .started_ms = kNowMs,
                        .ended_ms = kNowMs + 5};
    DROVER_CHECK(store.commit({{AddAttempt{ended}}}).has_value(), "an attempt is stored");
  }

  void post(Command command, std::function<void(Result<Effect>)> answered) override {
    constexpr Ticket kOurs{1};
    if (auto* receive = std::get_if<ReceiveMessages>(&command)) receive->wait_ms = 0;  // nobody sends meanwhile
    core_.apply(kOurs, command, kNowMs);
    DROVER_CHECK(store.commit({core_.take_mutations()}).has_value(), "mutations are stored");
    for (Answer& answer : core_.take_answers()) {
      if (answer.to != kOurs) continue;
      const auto* refused = std::get_if<Refused>(&answer.effect);
      return refused == nullptr ? answered(std::move(answer.effect)) : answered(std::unexpected(refused->error));
    }
    DROVER_CHECK(false, "a command is answered");
  }
  Result<DefinitionId> add_definition(std::string_view text) override { return store.add_definition(text); }
  Result<std::string> definition(DefinitionId id) override { return store.definition(id); }
  std::vector<JobView> list_jobs(const JobFilter& filter) override {
    std::vector<JobView> out;
    for (const Job& it : all_jobs()) {
      if (filter.before.value != 0 && it.id >= filter.before) continue;
      const JobView view{it, core_.counts(it.id), 1};
      if (!filter.suits || filter.suits(view)) out.insert(out.begin(), view);
    }
    if (out.size() > filter.limit) out.resize(filter.limit);
    return out;
  }
  Result<JobView> find_job(const std::string& reference) override {
    for (const Job& it : all_jobs()) {
      if (it.uuid.text() == reference || it.name == reference) return JobView{it, core_.counts(it.id), 1};
    }
    return fail(ErrorCode::not_found, "there is no such job");
  }
  std::optional<Job> find_job(JobId id) override {
    auto found = store.job(id);
    return found ? std::optional(std::move(*found)) : std::nullopt;
  }
  Result<std::vector<Attempt>> attempts(JobId job, ItemIndex item) override {
    std::vector<Attempt> out;
    auto read = store.each_attempt(job, item, [&](const Attempt& it) {
      if (it.item == item) out.push_back(it);
      return it.item == item;
    });
    if (!read) return pass(read);
    return out;
  }
  Result<std::unique_ptr<HttpBodySource>> log(const LogQuestion& /*question*/,
                                              const std::vector<Attempt>& /*attempts*/) override {
    return std::make_unique<Lines>(log_text());
  }
  Result<void> log_of_running(const LogQuestion& /*question*/,
                              const std::function<std::shared_ptr<HttpStream>()>& begin) override {
    const auto stream = begin();
    stream->write(log_text());
    stream->end();
    return {};
  }

  std::vector<std::string> lines;  // that every attempt has printed, one a millisecond

 private:
  struct Lines : HttpBodySource {
    explicit Lines(std::string text) : rest(std::move(text)) {}
    Result<std::string> next() override {
      constexpr std::size_t kPiece = 50;
      std::string piece = rest.substr(0, kPiece);
      rest.erase(0, piece.size());
      return piece;
    }
    std::string rest;
  };

  std::vector<Job> all_jobs() { return store.jobs().value(); }
  std::string log_text() const {
    std::string out;
    std::int64_t at_ms = kNowMs;
    for (const std::string& line : lines) {
      out += boost::json::serialize(boost::json::object{{"time_ms", at_ms++}, {"text", line}}) + "\n";
    }
    return out;
  }

  Core core_;
};

}  // namespace drover
