// Takes a job, whatever API it came by: its image is looked up, its items and its definition are stored, and only then
// is it submitted. An API answers when the job is durable.
#pragma once

#include <functional>
#include <string>

#include "base/holder.h"
#include "base/result.h"
#include "ports/backend.h"
#include "wire/submission.h"

namespace drover {

/// A job that is there.
struct SubmittedJob {
  Uuid uuid;
  std::string name;
  std::uint64_t total = 0;
  std::string notice;  // what who submitted it should know; mostly empty
};

class JobSubmitter {
 public:
  using Answered = std::function<void(const Result<SubmittedJob>&)>;

  explicit JobSubmitter(Backend& backend) : backend_(backend) {}

  /// From within Backend::later(); answered on any thread. The submission's name is a valid one.
  void submit(Submission submission, const Holder& holder, const std::string& owner, Answered answered);

 private:
  void accept(Submission submission, const std::string& owner, const std::string& notice, const Answered& answered);
  Result<NewManifest> manifest_of(const Submission& submission);

  Backend& backend_;
};

/// The UUID of a job that was submitted with this token: the same token, the same job.
Uuid uuid_of_token(std::string_view client_token);

}  // namespace drover
