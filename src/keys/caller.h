// Who sent a request, once its key has been checked.
#pragma once

#include <optional>
#include <string>

#include "base/uuid.h"
#include "base/words.h"
#include "keys/bucket_grant.h"
#include "keys/scope.h"

namespace drover {

struct Caller {
  Scope scope = Scope::read;
  std::string key_id;  // of a job's key: that of the worker it was given to
  std::string label;   // for people; a worker's is its name
  std::string fleet;   // of a worker's key; may be empty
  std::string worker;  // the only worker it may speak for; empty: any
  std::optional<Uuid> job;
  std::optional<Token> attempt = {};      // that the caller is, of this job
  std::string role = {};                  // that the caller has assumed
  std::string role_id = {};               // of that role
  std::string session = {};               // the name of that session
  std::optional<BucketGrant> grant = {};  // with the scope `bucket`: all that it may do
  bool is_temporary = false;              // it came with a session token

  /// Whether policies say what it may do, rather than its scope.
  bool has_session() const { return attempt || !role.empty(); }

  /// With everything there is: lists of jobs, workers, keys.
  bool may(Action action) const { return drover::may(scope, action); }
  /// With one job and what belongs to it.
  bool may(Action action, const Uuid& which) const {
    return may(action) || (job == which && may_with_own_job(scope, action));
  }
  bool operator==(const Caller&) const = default;
};

}  // namespace drover
