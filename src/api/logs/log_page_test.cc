#include "api/logs/log_page.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "api/logs/stream_name.h"
#include "base/text.h"

namespace drover::aws {
namespace {

namespace json = boost::json;

/// Lines "0" to "9", a second apart, in pieces that end anywhere.
json::object page_of(const LogPage::Wanted& wanted) {
  std::string text;
  for (int i = 0; i < 10; ++i) {
    text += json::serialize(json::object{{"time_ms", i * 1000}, {"text", concat(i)}}) + "\n";
  }
  LogPage page(wanted);
  for (std::size_t at = 0; at < text.size(); at += 7) page.add(std::string_view(text).substr(at, 7));
  return page.finish();
}

std::string messages(const json::object& page) {
  std::string out;
  for (const json::value& it : page.at("events").get_array()) out += it.at("message").get_string();
  return out;
}

TEST(LogPage, IsTheNewestUnlessToldOtherwise) {
  const json::object newest = page_of({.limit = 3});
  EXPECT_EQ(messages(newest), "789");
  EXPECT_EQ(newest.at("nextForwardToken"), "f/10");
  EXPECT_EQ(newest.at("nextBackwardToken"), "b/7");
  EXPECT_EQ(messages(page_of({.limit = 3, .until = 7})), "456");
  EXPECT_EQ(messages(page_of({.limit = 3, .is_forward = true})), "012");
  EXPECT_EQ(messages(page_of({.limit = 3, .from = 9, .is_forward = true})), "9");
}

TEST(LogPage, AtTheEndTokensStayTheSame) {
  EXPECT_EQ(page_of({.limit = 3, .from = 10, .is_forward = true}).at("nextForwardToken"), "f/10");
  EXPECT_EQ(page_of({.limit = 3, .until = 0}).at("nextBackwardToken"), "b/0");
}

TEST(LogPage, TimesBoundIt) {
  EXPECT_EQ(messages(page_of({.start_ms = 2000, .end_ms = 5000})), "234");
}

TEST(LogPage, NeedsNoMoreOfTheLogWhenItIsFull) {
  const std::string line = json::serialize(json::object{{"time_ms", 1}, {"text", "x"}}) + "\n";
  LogPage forward({.limit = 2, .is_forward = true});
  EXPECT_TRUE(forward.add(line + line));
  EXPECT_FALSE(forward.add(line));
  LogPage backward({.until = 2});
  EXPECT_TRUE(backward.add(line + line));
  EXPECT_FALSE(backward.add(line));
  EXPECT_EQ(messages(backward.finish()), "xx");
}

TEST(StreamName, NamesAnAttempt) {
  Job job;
  job.total = 1;
  job.named_definition = "demo:3";
  const std::string uuid = job.uuid.text();
  EXPECT_EQ(log_stream(job, ItemIndex{0}, 1), concat("demo/default/", uuid));
  EXPECT_EQ(log_stream(job, ItemIndex{0}, 2), concat("demo/default/", uuid, ".0.2"));
  job.total = 5;
  EXPECT_EQ(log_stream(job, ItemIndex{4}, 1), concat("demo/default/", uuid, ".4"));
  for (const std::uint64_t attempt : {1, 7}) {
    const auto back = parse_log_stream(log_stream(job, ItemIndex{4}, attempt));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->job, uuid);
    EXPECT_EQ(back->item, ItemIndex{4});
    EXPECT_EQ(back->attempt.value, attempt);
  }
  for (const char* wrong : {"", "demo/default/x", "demo/default/00000000-0000-4000-8000-000000000000.x",
                            "demo/default/00000000-0000-4000-8000-000000000000.1.0"}) {
    EXPECT_FALSE(parse_log_stream(wrong)) << wrong;
  }
}

TEST(StreamName, APrefixMayNameAJob) {
  const std::string uuid = "00000000-0000-4000-8000-000000000000";
  for (const char* rest : {"", ".", ".1", ".1.2", ".x"}) {
    EXPECT_EQ(job_in_prefix(concat("demo/default/", uuid, rest)), Uuid::parse(uuid)) << rest;
  }
  for (const std::string& several :
       {std::string(), uuid, std::string("demo/default/"), "demo/default/" + uuid.substr(1)}) {
    EXPECT_FALSE(job_in_prefix(several)) << several;
  }
}

}  // namespace
}  // namespace drover::aws
