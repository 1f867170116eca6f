#include "keys/scope.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "keys/caller.h"

namespace drover {
namespace {

using Rule = std::pair<Scope, Action>;

// Written out once more, so that a slip in the table is seen.
const std::set<Rule> kEverywhere{
    {Scope::admin, Action::read},    {Scope::admin, Action::submit},       {Scope::admin, Action::change_job},
    {Scope::admin, Action::work},    {Scope::admin, Action::administrate}, {Scope::submit, Action::read},
    {Scope::submit, Action::submit}, {Scope::submit, Action::change_job},  {Scope::worker, Action::work},
    {Scope::read, Action::read},
};
const std::set<Rule> kOwnJob{{Scope::job, Action::read}};

TEST(Scope, EveryPairOfScopeAndActionIsAsItShouldBe) {
  for (const Scope scope : kScopes) {
    for (const Action action : kActions) {
      EXPECT_EQ(may(scope, action), kEverywhere.contains({scope, action}))
          << to_string(scope) << " " << static_cast<int>(action);
      EXPECT_EQ(may_with_own_job(scope, action), kOwnJob.contains({scope, action}))
          << to_string(scope) << " " << static_cast<int>(action);
    }
  }
}

TEST(Scope, ItsNameReadsBack) {
  for (const Scope scope : kScopes) EXPECT_EQ(parse_scope(to_string(scope)), scope);
  EXPECT_EQ(parse_scope("root").error().code, ErrorCode::bad_input);
  EXPECT_EQ(parse_scope("").error().code, ErrorCode::bad_input);
}

TEST(Caller, AJobsKeyReadsThatJobAndNothingElse) {
  const Uuid own = Uuid::from_random({1});
  const Uuid other = Uuid::from_random({2});
  const Caller caller{.scope = Scope::job, .key_id = {}, .label = {}, .fleet = {}, .job = own};
  EXPECT_FALSE(caller.may(Action::read)) << "lists show every job";
  for (const Action action : kActions) {
    EXPECT_EQ(caller.may(action, own), action == Action::read);
    EXPECT_FALSE(caller.may(action, other));
  }
}

TEST(Caller, WhoMayDoItWithEverythingMayDoItWithAnyJob) {
  const Uuid job = Uuid::from_random({1});
  for (const Scope scope : {Scope::admin, Scope::submit, Scope::worker, Scope::read}) {
    const Caller caller{.scope = scope, .key_id = "AKDR", .label = {}, .fleet = {}, .job = std::nullopt};
    for (const Action action : kActions) EXPECT_EQ(caller.may(action, job), caller.may(action));
  }
}

}  // namespace
}  // namespace drover
