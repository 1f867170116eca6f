// Who may do what. The table in scope.cc is the only place that says it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace drover {

/// What a key is for.
enum class Scope : std::uint8_t {
  admin,   // everything
  submit,  // people and programs that bring work
  worker,  // a machine that does it
  read,    // dashboards
  job,     // the attempts of one job
  bucket,  // objects of one bucket: keys/bucket_grant.h says which
};

enum class Action : std::uint8_t {
  read,
  submit,
  change_job,    // cancel, retry
  work,          // register, poll, report, upload logs
  administrate,  // keys, drain and fence workers, backup
};

inline constexpr std::array kScopes{Scope::admin, Scope::submit, Scope::worker, Scope::read, Scope::job, Scope::bucket};
inline constexpr std::array kActions{Action::read, Action::submit, Action::change_job, Action::work,
                                     Action::administrate};

/// Whether it may do so with everything there is.
bool may(Scope scope, Action action);

/// Whether it may do so with the job that its key is bound to. Nobody but `job` is bound to one.
bool may_with_own_job(Scope scope, Action action);

std::string_view to_string(Scope scope);
Result<Scope> parse_scope(std::string_view text);

}  // namespace drover
