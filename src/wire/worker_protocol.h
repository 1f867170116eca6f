// The worker protocol: what is said, and how it becomes bytes. All calls are POSTs by the worker, below /worker/v1/:
//
//   register   Hello → Welcome
//   poll       WorkerPoll → WorkerPollAnswer; answered when there is something to say, at the latest after wait_ms
//   report     WorkerReport → nothing, as soon as it is durable
//   logs       WorkerUpload → where its frames are; before the report that refers to them, or while an attempt runs
//   job        a job's number → JobInfo
//   items      a range of a job's items → their texts
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/device_state.h"
#include "base/result.h"
#include "base/worker_upload.h"
#include "core/command.h"

namespace drover {

inline constexpr std::uint32_t kWorkerProtocol = 1;
inline constexpr std::uint32_t kOldestWorkerProtocol = 1;

/// A worker says who it is.
struct WorkerHello {
  std::uint32_t protocol = kWorkerProtocol;
  std::string name;
  std::uint64_t incarnation = 0;
  std::string version;
  Resources has = {};  // of CPUs or memory nothing: it does not say
  Labels labels;

  bool operator==(const WorkerHello&) const = default;
};

struct WorkerWelcome {
  std::uint32_t protocol = kWorkerProtocol;
  WorkerId worker;
  std::int64_t term_ms = 0;
  std::int64_t poll_wait_ms = 0;
  std::uint64_t server = 0;  // another one: the server was started anew

  bool operator==(const WorkerWelcome&) const = default;
};

/// A report, with log frames that nobody has uploaded before.
struct WorkerReport {
  Report report;
  std::vector<std::string> frames;                       // compressed, as the room logs makes them
  std::vector<std::vector<std::uint32_t>> ended_frames;  // for each that ended, which frames hold more of its output
  std::vector<DeviceState> devices = {};                 // of the worker, where its driver tells of them
};

struct WorkerPoll {
  Poll poll;
  std::vector<std::string> frames;
  std::vector<std::vector<std::uint32_t>> ended_frames;
  std::vector<DeviceState> devices = {};
};

/// The texts of a lease's items, if they came with it.
struct LeasedItems {
  std::vector<std::string> texts;  // one per item, or none
  bool is_range = false;           // they are the numbers from first_number on
  std::int64_t first_number = 0;

  bool operator==(const LeasedItems&) const = default;
};

struct WorkerPollAnswer {
  PollAnswer answer;
  std::vector<LeasedItems> items;  // one per lease
};

struct WorkerJob {
  JobId job;
  std::string uuid;
  std::string name;
  std::string definition;  // JSON
  std::string queue;
  std::string key;                // for the environment of its attempts; empty: none
  std::int64_t key_renew_ms = 0;  // when it is this old, a fresh one is there for the asking
  std::uint64_t total = 0;        // items
  std::string fleet = {};         // of the worker that asks; may be empty
  std::string attempts_key = {};  // see wire/session_credentials.h; empty: attempts get none

  bool operator==(const WorkerJob&) const = default;
};

struct ItemRange {
  JobId job;
  ItemIndex first;
  std::uint64_t count = 0;

  bool operator==(const ItemRange&) const = default;
};

std::string encode(const WorkerHello& hello);
std::string encode(const WorkerWelcome& welcome);
std::string encode(const WorkerPoll& poll);
std::string encode(const WorkerReport& report);
std::string encode(const WorkerPollAnswer& answer);
std::string encode(const WorkerJob& job);
std::string encode(const ItemRange& range);
std::string encode(const WorkerUpload& upload);
std::string encode_texts(const std::vector<std::string>& texts);  // items or places
std::string encode_job_number(JobId job);

Result<WorkerHello> decode_hello(std::string_view bytes);
Result<WorkerWelcome> decode_welcome(std::string_view bytes);
Result<WorkerPoll> decode_poll(std::string_view bytes);
Result<WorkerReport> decode_report(std::string_view bytes);
Result<WorkerPollAnswer> decode_poll_answer(std::string_view bytes);
Result<WorkerJob> decode_job(std::string_view bytes);
Result<ItemRange> decode_item_range(std::string_view bytes);
Result<WorkerUpload> decode_upload(std::string_view bytes);
Result<std::vector<std::string>> decode_texts(std::string_view bytes);
Result<JobId> decode_job_number(std::string_view bytes);

}  // namespace drover
