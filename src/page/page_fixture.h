// What the tests of the page share: a ledger made of a few lines, the page it becomes, and what is in it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.h"
#include "page/report.h"

namespace drover::page {

/// A ledger that makes its attempts as they are read.
class FakeReader : public StoreReader {
 public:
  using Take = std::function<bool(const Attempt&)>;

  explicit FakeReader(std::function<Result<void>(const Take&)> attempts) : attempts_(std::move(attempts)) {}

  Result<std::vector<Job>> jobs() override { return std::vector<Job>(); }
  Result<Job> job(JobId id) override { return Job{{}, id}; }
  Result<std::vector<Worker>> workers() override { return std::vector<Worker>(); }
  Result<std::string> worker_name(WorkerId) override { return std::string(); }
  Result<std::vector<Queue>> queues() override { return std::vector<Queue>(); }
  Result<std::vector<ShareRecord>> shares() override { return std::vector<ShareRecord>(); }
  Result<std::vector<NamedDefinition>> named_definitions() override { return std::vector<NamedDefinition>(); }
  Result<std::vector<EndedAt>> jobs_ended_by(std::int64_t /*ended_by_ms*/, EndedAt /*after*/,
                                             std::uint64_t /*limit*/) override {
    return std::vector<EndedAt>();
  }
  Result<bool> has_job_created_by(std::int64_t /*created_by_ms*/) override { return false; }
  Result<std::vector<Fleet>> fleets() override { return std::vector<Fleet>(); }
  Result<std::vector<Machine>> machines() override { return std::vector<Machine>(); }
  Result<std::vector<Document>> documents(const std::string& /*kind*/) override { return std::vector<Document>(); }
  Result<std::optional<Document>> document(const std::string& /*kind*/, const std::string& /*name*/) override {
    return std::nullopt;
  }
  Result<std::vector<Account>> accounts() override { return std::vector<Account>(); }
  Result<std::vector<Stream>> streams() override { return std::vector<Stream>(); }
  Result<std::optional<Stream>> stream(const std::string& /*name*/) override { return std::nullopt; }
  Result<std::optional<std::string>> message(MessageNumber /*number*/) override { return std::nullopt; }
  Result<void> each_item_message(JobId /*job*/, ItemSpan /*items*/,
                                 const std::function<bool(ItemIndex, std::string)>& /*take*/) override {
    return {};
  }
  Result<std::optional<DeadLetter>> dead_letter(MessageNumber /*number*/) override { return std::nullopt; }
  Result<void> each_event(EventId /*after*/, const std::function<bool(const Event&)>& /*take*/) override { return {}; }
  Result<EventId> newest_event() override { return EventId{}; }
  Result<std::vector<Attempt>> settled_by(JobId /*job*/, AttemptOrder /*order*/, std::uint64_t /*skip*/,
                                          std::uint64_t /*limit*/) override {
    return std::vector<Attempt>();
  }
  Result<std::vector<FailedAlike>> failures(JobId /*job*/) override { return std::vector<FailedAlike>(); }
  Result<std::string> definition(DefinitionId /*id*/) override { return std::string(); }
  Result<ManifestInfo> manifest(ManifestId /*id*/) override { return ManifestInfo{}; }
  Result<ManifestChunk> chunk(ManifestId /*manifest*/, ItemIndex /*item*/) override { return ManifestChunk{}; }
  Result<void> each_block(JobId /*job*/, ItemSpan /*items*/,
                          const std::function<void(const BlockRecord&)>& /*take*/) override {
    return {};
  }
  Result<std::optional<Grant>> grant(GrantId /*id*/) override { return std::nullopt; }
  Result<void> each_open_item(JobId /*job*/, ItemSpan /*items*/,
                              const std::function<void(const OpenItem&)>& /*take*/) override {
    return {};
  }
  Result<void> each_attempt(JobId /*job*/, ItemIndex /*from*/, const Take& take) override { return attempts_(take); }

 private:
  std::function<Result<void>(const Take&)> attempts_;
};

constexpr std::int64_t kBegunMs = 1'741'000'000'000;

/// A first attempt that succeeded: half a second on slot 0, from the run's beginning.
inline Attempt attempt_of(std::uint64_t item) {
  Attempt attempt;
  attempt.job = JobId{1};
  attempt.item = ItemIndex{item};
  attempt.attempt = AttemptNumber{1};
  attempt.exit_code = 0;
  attempt.worker = WorkerId{1};
  attempt.started_ms = kBegunMs;
  attempt.ended_ms = kBegunMs + 500;
  attempt.wall_us = 500'000;
  attempt.user_us = 300'000;
  attempt.peak_memory_kib = 4096;
  attempt.settled = true;
  return attempt;
}

inline Attempt failed_attempt_of(std::uint64_t item, std::int32_t exit_code, std::string last_line) {
  Attempt attempt = attempt_of(item);
  attempt.state = AttemptState::failed;
  attempt.exit_code = exit_code;
  attempt.reason = concat("exited with code ", exit_code);
  attempt.log.last_line = std::move(last_line);
  return attempt;
}

/// What `make` gives for every item.
template <class Make>
std::vector<Attempt> attempts_at(std::uint64_t items, Make&& make) {
  std::vector<Attempt> attempts;
  attempts.reserve(items);
  for (std::uint64_t item = 0; item < items; ++item) attempts.push_back(make(item));
  return attempts;
}

class PageTest : public testing::Test {
 protected:
  PageTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "drover-page.XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    options_.path = folder_ / "page.html";
    options_.drover_version = "1.2.3";
    options_.command = "./process {}";
    options_.now_ms = kBegunMs + 60'000;
    options_.item_text = [](ItemIndex item) -> Result<std::string> { return concat("text of ", item.value); };
    options_.shape = [](std::string_view line) {
      return std::string(line.substr(0, line.find_first_of("0123456789")));
    };
    job_.id = JobId{1};
    job_.name = "nightly";
    job_.state = JobState::succeeded;
    job_.created_ms = kBegunMs;
    job_.ended_ms = kBegunMs + 10'000;
  }
  ~PageTest() override { std::filesystem::remove_all(folder_); }

  /// Writes the page of these attempts and keeps it in page_ and, the part that is drawn, in data_.
  void make(const std::vector<Attempt>& attempts) {
    for (const Attempt& attempt : attempts) {
      if (!attempt.settled) continue;
      ++job_.total;
      ++(attempt.state == AttemptState::succeeded ? job_.succeeded : job_.failed);
    }
    FakeReader reader([&](const FakeReader::Take& take) -> Result<void> {
      for (const Attempt& attempt : attempts) take(attempt);
      return {};
    });
    make(reader);
  }

  void make(FakeReader& reader) {
    const auto written = write_report(reader, job_, options_);
    ASSERT_TRUE(written) << written.error().message;
    page_ = read();
    const std::string_view opening = R"(<script type="application/json" id="data">)";
    const std::size_t from = page_.find(opening) + opening.size();
    data_ = boost::json::parse(page_.substr(from, page_.find("</script>", from) - from)).as_object();
  }

  std::string read() const {
    std::ifstream file(options_.path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  bool shows(std::string_view html) const { return page_.contains(html); }

  std::size_t times(std::string_view html) const {
    std::size_t count = 0;
    for (std::size_t at = page_.find(html); at != std::string::npos; at = page_.find(html, at + 1)) ++count;
    return count;
  }

  static std::uint64_t sum(const boost::json::value& numbers) {
    std::uint64_t total = 0;
    for (const auto& number : numbers.as_array()) total += number.to_number<std::uint64_t>();
    return total;
  }

  std::filesystem::path folder_;
  ReportOptions options_;
  Job job_;
  std::string page_;
  boost::json::object data_;
};

}  // namespace drover::page
