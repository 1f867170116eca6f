#include "core/catalog/catalog.h"

#include <gtest/gtest.h>

#include "core/test_world.h"

namespace drover {
namespace {

class CatalogTest : public testing::Test {
 protected:
  /// What is said of it: empty, or why it is refused.
  std::string set(std::vector<SetDocuments::Change> changes) {
    const Effect effect = world_.ask(SetDocuments{std::move(changes)});
    const auto* refused = std::get_if<Refused>(&effect);
    return refused == nullptr ? "" : refused->error.message;
  }
  const Document* find(const std::string& name) {
    const auto& documents = world_.core.durable().documents;
    const auto found = documents.find({"role", name});
    return found == documents.end() ? nullptr : &found->second;
  }

  TestWorld world_;
};

TEST_F(CatalogTest, ADocumentChangesOnlyFromTheVersionThatWasRead) {
  EXPECT_EQ(set({{"role", "a", "1", 0}}), "");
  EXPECT_EQ(set({{"role", "a", "2", 0}}), "role 'a' has changed meanwhile");
  EXPECT_EQ(set({{"role", "a", "2", 1}}), "");
  EXPECT_EQ(find("a")->text, "2");
  EXPECT_EQ(find("a")->version, 2U);
  EXPECT_EQ(set({{"role", "a", std::nullopt, 1}}), "role 'a' has changed meanwhile");
  EXPECT_EQ(set({{"role", "a", std::nullopt, 2}}), "");
  EXPECT_EQ(find("a"), nullptr);
}

TEST_F(CatalogTest, SeveralDocumentsChangeTogetherOrNotAtAll) {
  ASSERT_EQ(set({{"role", "a", "1", 0}}), "");
  EXPECT_EQ(set({{"role", "b", "1", 0}, {"role", "a", "2", 7}}), "role 'a' has changed meanwhile");
  EXPECT_EQ(find("b"), nullptr);
  EXPECT_EQ(set({{"role", "b", "1", 0}, {"role", "a", "2", 1}}), "");
  world_.restart();
  EXPECT_EQ(find("b")->text, "1");
  EXPECT_EQ(find("a")->text, "2");
}

TEST_F(CatalogTest, AClosedQueueRunsWhatItHasAndTakesNothing) {
  Queue queue{.name = "q"};
  world_.set(queue);
  const JobId job = world_.submit(2, {.queue = "q"});
  queue.closed = true;
  world_.set(queue);
  const Effect effect = world_.ask(SubmitJob{{.name = "late", .place = {.queue = "q"}}, 1});
  ASSERT_TRUE(std::holds_alternative<Refused>(effect));
  EXPECT_EQ(std::get<Refused>(effect).error.message, "queue 'q' is closed: it accepts no jobs");
  const WorkerId worker =
      std::get<WorkerRegistered>(world_.ask(RegisterWorker{"w", 1, 0, {8000, 64 * TestWorld::kGiB, {}}, {}})).worker;
  EXPECT_EQ(world_.next(worker), job);
}

}  // namespace
}  // namespace drover
