#include "screen/jobs_view.h"

#include <gtest/gtest.h>

#include "screen/cells.h"

namespace drover {
namespace {

JobsView sample(std::size_t jobs, std::size_t workers) {
  JobsView view{.server = "https://head.example.org:8750", .clock = "14:03:12"};
  for (std::size_t i = 0; i < jobs; ++i) {
    JobsView::JobLine job{
        .name = "job-" + std::to_string(i), .state = i % 3 == 2 ? "failed" : "running", .total = 1000};
    job.succeeded = 300 + i;
    job.failed = 37;
    job.running = 4;
    job.rate = 65;
    job.left = TimeRange{10, 15};
    view.jobs.push_back(job);
  }
  for (std::size_t i = 0; i < workers; ++i) {
    view.workers.push_back({.name = "gpu-" + std::to_string(i),
                            .cpus = "8",
                            .memory = "24.0 GiB",
                            .version = "0.1.0",
                            .labels = "zone=a",
                            .seen_ago_s = 2});
  }
  return view;
}

TEST(JobsView, NothingIsWiderOrHigherThanTheTerminal) {
  for (const std::size_t jobs : {0, 1, 5, 300}) {
    for (const std::size_t workers : {0, 1, 80}) {
      for (const ScreenSize size : {ScreenSize{80, 24}, {200, 50}, {40, 10}, {9, 3}, {1, 1}, {132, 7}}) {
        const auto lines = lay_out_jobs(sample(jobs, workers), size, Colours::off);
        ASSERT_LE(lines.size(), size.rows);
        for (const std::string& line : lines)
          ASSERT_LE(cells_of(line), std::max<std::size_t>(size.columns, 2) - 1) << line;
      }
    }
  }
}

TEST(JobsView, AtEightyColumnsEveryJobHasABar) {
  const auto lines = lay_out_jobs(sample(2, 1), {80, 24}, Colours::off);
  EXPECT_EQ(lines[2], "JOB                              DONE  FAILED  RUNNING       RATE  TIME LEFT");
  EXPECT_EQ(lines[3].substr(0, 5), "job-0");
  EXPECT_NE(lines[3].find("33.7 %"), std::string::npos) << lines[3];
  EXPECT_NE(lines[3].find("65/s"), std::string::npos) << lines[3];
  EXPECT_NE(lines[3].find("▕"), std::string::npos) << lines[3];
  EXPECT_EQ(lines.back(), "q: quit");
}

TEST(JobsView, SaysWhatDidNotFit) {
  const auto lines = lay_out_jobs(sample(100, 40), {80, 24}, Colours::off);
  EXPECT_EQ(lines.size(), 24);
  EXPECT_EQ(lines.back(), "q: quit; 86 jobs more; 36 workers more");
}

TEST(JobsView, TroubleTakesThePlaceOfTheCounts) {
  JobsView view = sample(1, 1);
  view.note = "no response for 12 s";
  EXPECT_NE(lay_out_jobs(view, {80, 24}, Colours::off).front().find("no response for 12 s"), std::string::npos);
}

TEST(JobsView, ANameCannotDoAnythingToTheTerminal) {
  JobsView view = sample(1, 1);
  view.jobs[0].name = "a\x1b[2Jb";
  view.workers[0].labels = "x=\x1b]0;title\x07";
  for (const std::string& line : lay_out_jobs(view, {80, 24}, Colours::off)) {
    EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace drover
