// A server's jobs and workers on one screen, like top.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "screen/screen_size.h"
#include "screen/styled_line.h"
#include "screen/time_left.h"

namespace drover {

struct JobsView {
  struct JobLine {
    std::string name;
    std::string state;  // "running", "succeeded", …
    std::uint64_t total = 0;
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t running = 0;
    double rate = 0;               // items a second, lately
    std::optional<TimeLeft> left;  // nothing while it cannot be known
    double ended_ago_s = 0;        // of one that has ended
    std::string note;              // why nothing of it runs; normally empty

    bool has_ended() const { return state != "running" && state != "pending"; }
  };
  struct WorkerLine {
    std::string name;
    std::string cpus;
    std::string memory;
    std::string version;
    std::string labels;
    std::optional<double> seen_ago_s;
    std::string coming;  // of a fleet's machine that has not joined: "requested" or "starting"
  };

  std::string server;
  std::string clock;          // "14:03:12"
  std::string note;           // what is wrong with the view itself: "no response for 12 s"
  std::vector<JobLine> jobs;  // in the order to show them in
  bool more_jobs = false;     // the server has others, which it was not asked for
  std::vector<WorkerLine> workers;
};

/// At most as many lines as there are rows, none wider than columns - 1.
std::vector<std::string> lay_out_jobs(const JobsView& view, ScreenSize size, Colours colours);

}  // namespace drover
