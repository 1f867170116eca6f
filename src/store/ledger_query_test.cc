#include "store/ledger_query.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <thread>

#include "base/text.h"
#include "store/sqlite_store.h"

namespace drover {
namespace {

constexpr std::int64_t kShortMs = 300;
constexpr std::int64_t kLongMs = 3'600'000;

class LedgerQueryTest : public testing::Test {
 protected:
  LedgerQueryTest() {
    char place[] = "/tmp/drover-query-XXXXXX";
    folder_ = ::mkdtemp(place);
    path_ = folder_ + "/drover.db";
    EXPECT_TRUE(open_sqlite_store(path_, nullptr));
  }
  ~LedgerQueryTest() override { std::filesystem::remove_all(folder_); }

  /// How many rows there were.
  Result<int> ask(const std::string& sql, const QueryLimits& limits) {
    int rows = 0;
    auto asked = query_ledger(path_, sql, limits,
                              {.columns = [](const auto&) {},
                               .row =
                                   [&](const auto&) {
                                     ++rows;
                                     return true;
                                   }});
    if (!asked) return pass(asked);
    return rows;
  }

  std::string folder_;
  std::string path_;
};

std::string endless(const std::string& expression) {
  return concat("with recursive n(x) as (select 1 union all select x + 1 from n) select count(", expression,
                ") from n");
}

TEST_F(LedgerQueryTest, EachCallOfAFunctionIsShortEnoughForTheTimeLimit) {
  const std::string all = "printf('%.*c', 30000, 'a')";
  const std::string half = "printf('%.*c', 15000, 'a') || x";
  for (const std::string& expression :
       {concat("instr(", all, ", ", half, ")"), concat("replace(", all, ", ", half, ", '')"),
        concat("trim(", all, ", substr(", half, ", 1, 2500))"), concat(all, " like '%a%a%a%a%a%a%a%a%b' || x")}) {
    const auto asked = ask(endless(expression), {.time_ms = kShortMs});
    ASSERT_FALSE(asked);
    EXPECT_NE(asked.error().message.find("too long"), std::string::npos) << asked.error().message;
  }
}

TEST_F(LedgerQueryTest, TextsAreBounded) {
  const auto asked = ask(concat("select '", std::string(std::size_t{100} << 10, 'a'), "'"), {.time_ms = kLongMs});
  ASSERT_FALSE(asked);
  EXPECT_NE(asked.error().message.find("too long"), std::string::npos) << asked.error().message;
}

TEST_F(LedgerQueryTest, AQueryThatGrowsWhileItIsUnderstoodIsStopped) {
  std::string sql = "with a0 as (select 1 as x)";
  for (int i = 1; i < 40; ++i) {
    sql += concat(", a", i, " as (select p.x from a", i - 1, " p, a", i - 1, " q)");
  }
  EXPECT_FALSE(ask(sql + " select count(*) from a39", {.time_ms = kShortMs}));
  EXPECT_FALSE(ask(sql + " select count(*) from a39", {.time_ms = kLongMs})) << "by its memory";
  EXPECT_EQ(ask("select 1", {.time_ms = kLongMs}), 1) << "the next one has all of it again";
}

TEST_F(LedgerQueryTest, AStopEndsWhatIsUnderWay) {
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  const auto asked = ask(endless("x"), {.time_ms = kLongMs, .stop = stop.get_token()});
  EXPECT_FALSE(asked);
}

}  // namespace
}  // namespace drover
