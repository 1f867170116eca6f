// How failures are grouped and shown.
#include "page/page_fixture.h"

namespace drover::page {
namespace {

class Failures : public PageTest {};

/// A number without digits.
std::string letters(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (char& c : text) c = static_cast<char>(c - '0' + 'a');
  return text;
}

TEST_F(Failures, AreGroupedByEndingAndByTheShapeOfTheLastLine) {
  std::vector<Attempt> attempts = attempts_at(8, [](std::uint64_t item) {
    return failed_attempt_of(item, 3, concat(item < 5 ? "bad pixel " : "no file ", item));
  });
  Attempt killed = failed_attempt_of(8, 0, "bad pixel 8");
  killed.ending = Ending::signalled;
  killed.exit_code.reset();
  killed.signal = 9;
  attempts.push_back(killed);
  make(attempts);
  EXPECT_EQ(times(R"(<li class="failure">)"), 3U);
  EXPECT_TRUE(shows("<li><b>8</b> exit code 3</li><li><b>1</b> signal 9 (SIGKILL)</li>"));
  EXPECT_TRUE(shows(R"(<b>5</b> items)"));
  EXPECT_TRUE(shows(R"(<code class="shape">bad pixel</code>)"));
  EXPECT_TRUE(shows("item 0, attempt 1: <q>text of 0</q><samp>bad pixel 0</samp>"));
  EXPECT_TRUE(shows("drover logs nightly:0<"));
  EXPECT_TRUE(shows("drover logs nightly:5<"));
  EXPECT_LT(page_.find(R"(<b>5</b> items)"), page_.find(R"(<b>3</b> items)"));
}

TEST_F(Failures, SayHowEachEnded) {
  std::vector<Attempt> attempts;
  for (const Ending ending : {Ending::timed_out, Ending::not_started, Ending::out_of_memory}) {
    attempts.push_back(failed_attempt_of(attempts.size(), 0, ""));
    attempts.back().ending = ending;
    attempts.back().exit_code.reset();
    attempts.back().reason = ending == Ending::not_started ? "./process: not found" : "";
  }
  make(attempts);
  for (const char* how : {"timed out", "could not start", "out of memory"}) {
    EXPECT_TRUE(shows(concat(R"(<span class="how">)", how, "</span>"))) << how;
  }
  EXPECT_TRUE(shows("./process: not found"));
  EXPECT_EQ(times("printed nothing"), 2U);
}

TEST_F(Failures, ThatWereTriedAgainAreNotFailedItems) {
  Attempt first = failed_attempt_of(0, 3, "busy");
  first.settled = false;
  Attempt second = attempt_of(0);
  second.attempt = AttemptNumber{2};
  make({first, second});
  EXPECT_TRUE(shows("<b>1</b> attempt, retried"));
  EXPECT_FALSE(shows(R"(<ul class="endings">)"));
}

TEST_F(Failures, HaveAnExampleThatFailedForGood) {
  Attempt tried_again = failed_attempt_of(0, 3, "busy");
  tried_again.settled = false;
  make({tried_again, failed_attempt_of(1, 3, "busy")});
  EXPECT_TRUE(shows("drover logs nightly:1<"));
  EXPECT_TRUE(shows("<b>1</b> item<small>2 attempts</small>"));
}

TEST_F(Failures, OfEveryItemAreAWholePageToo) {
  job_.state = JobState::failed;
  make(attempts_at(20, [](std::uint64_t item) { return failed_attempt_of(item, 1, ""); }));
  EXPECT_TRUE(shows(R"(<b data-count="succeeded">0</b>)"));
  EXPECT_TRUE(shows(R"(<b data-count="failed">20</b>)"));
  EXPECT_EQ(times(R"(<li class="failure">)"), 1U);
}

TEST_F(Failures, OfCountlessShapesAddUp) {
  options_.shape = nullptr;  // every line is a shape of its own, but for its digits
  make(attempts_at(20'000, [](std::uint64_t item) {
    return failed_attempt_of(item, 3, item % 4 == 0 ? "the common one" : concat("rare ", letters(item)));
  }));
  EXPECT_EQ(times(R"(<li class="failure">)"), 50U);
  EXPECT_TRUE(shows("<li><b>20,000</b> exit code 3</li>"));
  EXPECT_TRUE(shows(R"(<b>5,000</b> items)"));
  EXPECT_TRUE(shows("other, less common last lines"));
  EXPECT_TRUE(shows("smaller groups."));
}

TEST_F(Failures, ThereAreNone) {
  make({attempt_of(0)});
  EXPECT_TRUE(shows("No attempt failed."));
}

}  // namespace
}  // namespace drover::page
