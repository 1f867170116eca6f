#include "server/stream_board.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

Stream stream_of(std::string name, std::uint64_t version) {
  Stream out;
  out.name = std::move(name);
  out.version = version;
  return out;
}

TEST(StreamBoard, ShowsWhatWasCommittedLast) {
  StreamBoard board;
  board.know({stream_of("a", 1), stream_of("ab", 1)});
  board.take(StreamSet{stream_of("a", 2)}, "a");
  board.take(StreamSet{stream_of("b", 1)}, "b");
  ASSERT_NE(board.find("a"), nullptr);
  EXPECT_EQ(board.find("a")->version, 2);
  EXPECT_EQ(board.find("c"), nullptr);
  ASSERT_EQ(board.list("a").size(), 2);
  EXPECT_EQ(board.list("a")[1]->name, "ab");
  EXPECT_EQ(board.list("").size(), 3);
  board.take(StreamDropped{}, "a");
  EXPECT_EQ(board.find("a"), nullptr);
}

TEST(StreamBoard, OfWhatItHasHeardNothingOlderIsTaken) {
  StreamBoard board;
  board.take(StreamSet{stream_of("a", 2)}, "a");
  board.know({stream_of("a", 1)});
  EXPECT_EQ(board.find("a")->version, 2);
}

TEST(StreamBoard, KnowsWhichCommandsChangeAStream) {
  SetStream set;
  set.spec.name = "a";
  EXPECT_EQ(changed_stream(set), "a");
  EXPECT_EQ(changed_stream(DropStream{"b"}), "b");
  EXPECT_EQ(changed_stream(PurgeStream{"c"}), "");
}

}  // namespace
}  // namespace drover
