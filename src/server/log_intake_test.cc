#include "server/log_intake.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <future>

#include "logs/frame.h"
#include "logs/record.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

class LogIntakeTest : public testing::Test {
 protected:
  LogIntakeTest() {
    char place[] = "/tmp/drover-intake-XXXXXX";
    folder_ = ::mkdtemp(place);
  }
  ~LogIntakeTest() override { fs::remove_all(folder_); }

  std::unique_ptr<LogIntake> intake(std::uint64_t mark) {
    return std::make_unique<LogIntake>(
        folder_ + "/logs", FreeSpace(folder_, mark, "its ledger"),
        [this](const std::optional<Error>& trouble) { troubles_.push_back(trouble ? trouble->message : "over"); });
  }
  static Result<std::vector<Extent>> add(LogIntake& intake) {
    std::string raw;
    append_record(raw, {{JobId{1}, ItemIndex{0}, AttemptNumber{1}}, LogStream::out, 0, "a line\n"});
    FramePacker packer;
    std::promise<Result<std::vector<Extent>>> placed;
    intake.add({std::string(packer.pack(raw))}, [&](const Result<std::vector<Extent>>& it) { placed.set_value(it); });
    return placed.get_future().get();
  }

  std::string folder_;
  std::vector<std::string> troubles_;
};

TEST_F(LogIntakeTest, FramesArePlacedWhereThereIsSpace) {
  const auto it = intake(1);
  const auto placed = add(*it);
  ASSERT_TRUE(placed) << placed.error().message;
  EXPECT_EQ(placed->size(), 1);
  EXPECT_TRUE(troubles_.empty());
}

TEST_F(LogIntakeTest, FramesAreRefusedBeforeWhatIsKeptForTheLedgerIsUsed) {
  auto it = intake(std::uint64_t{1} << 60);
  for (int i = 0; i < 3; ++i) {
    const auto placed = add(*it);
    ASSERT_FALSE(placed);
    EXPECT_EQ(placed.error().code, ErrorCode::no_space);
    EXPECT_NE(placed.error().message.find("its ledger"), std::string::npos) << placed.error().message;
  }
  it.reset();
  EXPECT_EQ(troubles_.size(), 1) << "it is told once";
  EXPECT_FALSE(fs::exists(folder_ + "/logs"));
}

}  // namespace
}  // namespace drover
