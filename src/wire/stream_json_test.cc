#include "wire/stream_json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace drover {
namespace {

StreamSpec named(std::string name) {
  StreamSpec out;
  out.name = std::move(name);
  return out;
}

std::string refusal_of_spec(std::string_view text, const std::string& name = "orders") {
  const auto read = stream_from_json(text, named(name));
  return read ? "" : read.error().message;
}

TEST(StreamJson, NamesAreShortWordsAndThoseOfFifoStreamsEndSo) {
  for (const char* good : {"a", "A-b_9", "orders.fifo"}) EXPECT_TRUE(is_stream_name(good)) << good;
  for (const char* bad : {"", ".fifo", "a.b", "a.fifo.fifo", "a b", "é", "a/b", "..", "a.FIFO"}) {
    EXPECT_FALSE(is_stream_name(bad)) << bad;
  }
  EXPECT_TRUE(is_stream_name(std::string(80, 'a')));
  EXPECT_FALSE(is_stream_name(std::string(81, 'a')));
  EXPECT_FALSE(is_stream_name(std::string(76, 'a') + ".fifo"));
}

TEST(StreamJson, WhatIsNotSaidStays) {
  StreamSpec before = named("orders");
  before.delay_ms = 7000;
  before.text = "{}";
  before.owner = "ada";
  const auto read = stream_from_json(
      R"({"visibility": "2m", "retention": "1d", "wait": 20, "max_message": "2KiB", "max_receives": 3,
          "dead_letters": "failed", "version": 4, "delay": null})",
      before);
  ASSERT_TRUE(read) << read.error().message;
  before.visibility_ms = 120'000;
  before.retention_ms = 86'400'000;
  before.receive_wait_ms = 20'000;
  before.max_message_bytes = 2048;
  before.max_receives = 3;
  before.dead_letters = "failed";
  EXPECT_EQ(read->spec, before);
  EXPECT_EQ(read->version, 4);
  const auto cleared = stream_from_json(R"({"max_receives": 0, "dead_letters": ""})", read->spec);
  ASSERT_TRUE(cleared);
  EXPECT_EQ(cleared->spec.dead_letters, "");
  EXPECT_EQ(cleared->version, std::nullopt);
}

TEST(StreamJson, BoundsAreSaid) {
  EXPECT_EQ(refusal_of_spec(R"({"visibility": "13h"})"), "field 'visibility' must be a time from 0s to 12h");
  EXPECT_EQ(refusal_of_spec(R"({"delay": "16m"})"), "field 'delay' must be a time from 0s to 15m");
  EXPECT_EQ(refusal_of_spec(R"({"retention": "59s"})"), "field 'retention' must be a time from 1m to 14d");
  EXPECT_EQ(refusal_of_spec(R"({"wait": "21s"})"), "field 'wait' must be a time from 0s to 20s");
  EXPECT_EQ(refusal_of_spec(R"({"max_message": "2MiB"})"), "field 'max_message' must be a size from 1KiB to 1MiB");
  EXPECT_EQ(refusal_of_spec(R"({"max_receives": 1001})"), "field 'max_receives' must be a whole number from 0 to 1000");
  EXPECT_EQ(refusal_of_spec(R"({"dead_letters": "a b"})"),
            "field 'dead_letters' is 'a b', which is not a valid stream name");
  EXPECT_EQ(refusal_of_spec(R"({"colour": 1})"), "unknown field 'colour'");
}

TEST(StreamJson, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_TRUE(refusal_of_spec(R"({"fifo": true})").contains("must end in .fifo"));
  EXPECT_TRUE(refusal_of_spec(R"({"fifo": false})", "orders.fifo").contains("is a FIFO stream"));
  EXPECT_EQ(refusal_of_spec(R"({"deduplicate_content": true})", "orders.fifo"), "");
  EXPECT_TRUE(refusal_of_spec(R"({"deduplicate_content": true})").contains("not a FIFO stream"));
  EXPECT_TRUE(refusal_of_spec(R"({"max_receives": 3})").contains("requires 'dead_letters'"));
  EXPECT_TRUE(refusal_of_spec(R"({"dead_letters": "failed"})").contains("requires 'max_receives'"));
  EXPECT_TRUE(refusal_of_spec(R"({"max_receives": 3, "dead_letters": "orders"})").contains("its own"));
  EXPECT_TRUE(refusal_of_spec(R"({"max_receives": 3, "dead_letters": "a.fifo"})").contains("cannot be a FIFO stream"));
  EXPECT_TRUE(
      refusal_of_spec(R"({"max_receives": 3, "dead_letters": "a"})", "b.fifo").contains("must be a FIFO stream"));
}

TEST(StreamJson, ANameMakesAFifoStream) {
  const auto read = stream_from_json("", named("orders.fifo"));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->spec.fifo);
}

TEST(StreamJson, AReceiptComesBack) {
  const Receipt receipt{StreamId{3}, MessageNumber{8192}, 12};
  EXPECT_EQ(receipt_text(receipt), "3-8192-12");
  EXPECT_EQ(receipt_from("3-8192-12"), receipt);
  for (const char* bad : {"", "3", "3-4", "3-4-", "a-b-c", "3-4-5-6", "-1-2-3", "99999999999999999999-1-1"}) {
    EXPECT_EQ(receipt_from(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace drover
