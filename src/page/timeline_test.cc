// What the timeline and the histograms are drawn from.
#include "page/page_fixture.h"

namespace drover::page {
namespace {

class Timeline : public PageTest {
 protected:
  boost::json::array& bars() { return data_["bars"].as_array(); }
  boost::json::array& stretches() { return data_["stretches"].as_array(); }
  boost::json::array& rows() { return data_["rows"].as_array(); }
};

std::int64_t number(const boost::json::value& value) {
  return value.to_number<std::int64_t>();
}

TEST_F(Timeline, HasABarForEveryAttemptOfASmallRun) {
  Attempt second = failed_attempt_of(1, 3, "it broke");
  second.slot = 1;
  second.started_ms += 200;
  make({attempt_of(0), second});
  ASSERT_EQ(bars().size(), 2U);
  const boost::json::array& bar = bars()[1].as_array();
  EXPECT_EQ(number(bar[0]), 1);        // row
  EXPECT_EQ(number(bar[2]), 200'000);  // start
  EXPECT_EQ(number(bar[3]), 500'000);  // length
  EXPECT_EQ(number(bar[4]), static_cast<int>(AttemptState::failed));
  const auto text = [&](std::size_t field) { return data_["texts"].as_array()[bar[field].as_int64()].as_string(); };
  EXPECT_EQ(text(7), "exit code 3");
  EXPECT_EQ(text(8), "text of 1");
  EXPECT_EQ(text(9), "it broke");
  EXPECT_TRUE(shows("<h3>Wall time</h3><b>700.0 ms</b>"));
  EXPECT_TRUE(shows("<h3>Utilisation</h3><b>71 %</b><p>of 2 slots</p>"));
}

TEST_F(Timeline, OfManyAttemptsIsAGridThatCountsEachOnce) {
  std::vector<Attempt> attempts = attempts_at(6000, [](std::uint64_t item) {
    Attempt attempt = item % 10 == 0 ? failed_attempt_of(item, 1, "no") : attempt_of(item);
    attempt.slot = item % 3;
    attempt.started_ms += static_cast<std::int64_t>(item / 3 * 500);
    return attempt;
  });
  make(attempts);
  EXPECT_FALSE(data_.contains("bars"));
  ASSERT_EQ(rows().size(), 3U);
  std::uint64_t ended = 0;
  std::uint64_t failed = 0;
  for (const auto& row : data_["cells"].as_array()) {
    ended += sum(row.at("ended"));
    const boost::json::array& pairs = row.at("failed").as_array();
    for (std::size_t i = 1; i < pairs.size(); i += 2) failed += pairs[i].to_number<std::uint64_t>();
    const std::string_view busy = row.at("busy").as_string();
    EXPECT_LE(busy.size(), 1024U);
    EXPECT_EQ(busy, std::string(busy.size(), 'z'));
  }
  EXPECT_EQ(ended, 6000U);
  EXPECT_EQ(failed, 600U);
  EXPECT_EQ(sum(data_["columns"].at("succeeded")), 5400U);
  EXPECT_EQ(sum(data_["columns"].at("others")), 600U);
  EXPECT_TRUE(shows("<b>100 %</b><p>of 3 slots</p>"));
}

TEST_F(Timeline, PutsNeighbouringSlotsTogetherWhereThereAreMany) {
  std::vector<Attempt> attempts = attempts_at(200, [](std::uint64_t item) {
    Attempt attempt = attempt_of(item);
    attempt.slot = static_cast<std::uint32_t>(199 - item);
    return attempt;
  });
  make(attempts);
  ASSERT_EQ(rows().size(), 50U);
  EXPECT_EQ(rows()[0].at("label").as_string(), "0–3");
  EXPECT_EQ(rows()[0].at("slots").to_number<int>(), 4);
  EXPECT_EQ(rows()[49].at("label").as_string(), "196–199");
  EXPECT_EQ(number(bars()[199].at(0)), 0);
  EXPECT_EQ(number(bars()[199].at(1)), 0);
  EXPECT_EQ(number(bars()[196].at(1)), 3);
  EXPECT_TRUE(shows("<p>of 200 slots</p>"));
}

TEST_F(Timeline, TellsWorkersApart) {
  Attempt other = attempt_of(1);
  other.worker = WorkerId{7};
  make({attempt_of(0), other});
  ASSERT_EQ(rows().size(), 2U);
  EXPECT_EQ(rows()[0].at("label").as_string(), "w1:0");
  EXPECT_EQ(rows()[1].at("label").as_string(), "w7:0");
}

TEST_F(Timeline, ManyWorkersShareRows) {
  std::vector<Attempt> attempts = attempts_at(300, [](std::uint64_t item) {
    Attempt attempt = attempt_of(item);
    attempt.worker = WorkerId{item + 1};
    attempt.slot = static_cast<std::uint32_t>(item % 2);
    return attempt;
  });
  make(attempts);
  EXPECT_LE(rows().size(), 64U);
  std::uint64_t slots = 0;
  for (const auto& row : rows()) slots += row.at("slots").to_number<std::uint64_t>();
  EXPECT_EQ(slots, 300U);
}

TEST_F(Timeline, LeavesOutALongPause) {
  Attempt next_day = attempt_of(1);
  next_day.started_ms += 86'400'000;
  make({attempt_of(0), next_day});
  ASSERT_EQ(stretches().size(), 2U);
  EXPECT_EQ(number(stretches()[0].at(1)), 500'000);
  EXPECT_EQ(number(stretches()[1].at(0)), 86'400'000'000);
  EXPECT_TRUE(shows("<h3>Wall time</h3><b>1.0 s</b><p>excluding 1 pause, 23 h 59 min in total</p>"));
}

TEST_F(Timeline, KeepsAShortPause) {
  Attempt later = attempt_of(1);
  later.started_ms += 50'000;
  make({attempt_of(0), later});
  EXPECT_EQ(stretches().size(), 1U);
}

TEST_F(Timeline, BearsClocksThatJump) {
  Attempt back = attempt_of(0);
  back.ended_ms = back.started_ms - 5000;
  Attempt unmeasured = back;
  unmeasured.item = ItemIndex{1};
  unmeasured.wall_us = 0;
  Attempt unknown = attempt_of(2);
  unknown.started_ms = 0;
  Attempt damaged = attempt_of(3);
  damaged.started_ms = std::numeric_limits<std::int64_t>::max();
  damaged.wall_us = std::numeric_limits<std::int64_t>::max();
  Attempt negative = attempt_of(4);
  negative.wall_us = -7;
  negative.peak_memory_kib = -7;
  negative.started_ms = -7;
  make({back, unmeasured, unknown, damaged, negative});
  ASSERT_EQ(bars().size(), 2U);
  EXPECT_EQ(number(bars()[0].at(3)), 500'000);
  EXPECT_EQ(number(bars()[1].at(3)), 0);
  EXPECT_TRUE(shows("<h3>Attempts</h3><b>5</b>"));
  EXPECT_TRUE(shows("<h3>Wall time</h3><b>500.0 ms</b>"));
}

TEST_F(Timeline, OfOneMomentIsStillATimeline) {
  Attempt instant = attempt_of(0);
  instant.wall_us = 0;
  instant.ended_ms = instant.started_ms;
  make({instant});
  EXPECT_EQ(stretches().size(), 1U);
  EXPECT_EQ(bars().size(), 1U);
}

TEST_F(Timeline, OfAttemptsOfVeryDifferentLengthStaysSmall) {
  std::vector<Attempt> attempts = attempts_at(5001, [](std::uint64_t item) {
    Attempt attempt = attempt_of(item);
    attempt.started_ms += static_cast<std::int64_t>(item);
    attempt.wall_us = 1;
    return attempt;
  });
  attempts.back().wall_us = 90LL * 86'400 * 1'000'000;
  make(attempts);
  EXPECT_LE(data_["columns"].at("at").as_array().size(), 1024U);
  EXPECT_EQ(sum(data_["cells"].at(0).at("ended")), 5001U);
}

TEST_F(Timeline, HistogramsHoldEveryMeasuredAttemptWithFailedOnesApart) {
  std::vector<Attempt> attempts = attempts_at(100, [](std::uint64_t item) {
    Attempt attempt = item < 10 ? failed_attempt_of(item, 1, "") : attempt_of(item);
    attempt.wall_us = static_cast<std::int64_t>((item + 1) * 10'000);
    return attempt;
  });
  Attempt not_started = failed_attempt_of(100, 0, "");
  not_started.ending = Ending::not_started;
  attempts.push_back(not_started);
  make(attempts);
  std::uint64_t succeeded = 0;
  std::uint64_t others = 0;
  double before = 0;
  for (const auto& bar : data_["duration"].at("bars").as_array()) {
    EXPECT_GE(bar.at(0).to_number<double>(), before);
    before = bar.at(1).to_number<double>();
    succeeded += bar.at(2).to_number<std::uint64_t>();
    others += bar.at(3).to_number<std::uint64_t>();
  }
  EXPECT_EQ(succeeded, 90U);
  EXPECT_EQ(others, 10U);
  const boost::json::array& marks = data_["duration"].at("marks").as_array();
  EXPECT_NEAR(marks[0].to_number<double>(), 500'000, 10'000);
  EXPECT_NEAR(marks[1].to_number<double>(), 950'000, 19'000);
  EXPECT_NEAR(marks[2].to_number<double>(), 990'000, 20'000);
  EXPECT_EQ(number(marks[3]), 1'000'000);
  EXPECT_TRUE(shows("<dt>max</dt><dd>1.0 s</dd>"));
}

}  // namespace
}  // namespace drover::page
