#include "keys/scope.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace drover {
namespace {

using Actions = std::uint8_t;  // a bit for each

template <class... Some>
constexpr Actions actions(Some... some) {
  return static_cast<Actions>((0U | ... | (1U << static_cast<unsigned>(some))));
}

constexpr Actions kNothing = 0;

struct Row {
  Scope scope;
  std::string_view name;
  Actions everywhere;
  Actions own_job;
};

constexpr std::array kTable{
    Row{Scope::admin, "admin",
        actions(Action::read, Action::submit, Action::change_job, Action::work, Action::administrate), kNothing},
    Row{Scope::submit, "submit", actions(Action::read, Action::submit, Action::change_job), kNothing},
    Row{Scope::worker, "worker", actions(Action::work), kNothing},
    Row{Scope::read, "read", actions(Action::read), kNothing},
    Row{Scope::job, "job", kNothing, actions(Action::read)},
    Row{Scope::bucket, "bucket", kNothing, kNothing},
};

const Row& row_of(Scope scope) {
  const auto* row = std::ranges::find(kTable, scope, &Row::scope);
  DROVER_CHECK(row != kTable.end(), "a scope without a row");
  return *row;
}

}  // namespace

bool may(Scope scope, Action action) {
  return (row_of(scope).everywhere & actions(action)) != 0;
}

bool may_with_own_job(Scope scope, Action action) {
  return (row_of(scope).own_job & actions(action)) != 0;
}

std::string_view to_string(Scope scope) {
  return row_of(scope).name;
}

Result<Scope> parse_scope(std::string_view text) {
  const auto* row = std::ranges::find(kTable, text, &Row::name);
  if (row != kTable.end()) return row->scope;
  return fail(ErrorCode::bad_input, concat("unknown scope '", text, "'"), "choose one of admin, submit, worker, read");
}

}  // namespace drover
