#include "wire/job_file.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(JobFile, SaysTheSameInYamlAndInJson) {
  const auto yaml = read_job_file(R"(name: nightly
command: [./process, "{}", 5, true]
environment: {THREADS: 4, DEBUG: no, RATE: 1.50}
range: 1-1000
timeout: 10m
memory: 2GiB
cpus: 0.5
require: {zone: a}
after: [prepare, {job: split, each: true}]
)",
                                  {});
  const auto json = read_job_file(R"({"name": "nightly", "command": ["./process", "{}", "5", "true"],
"environment": {"THREADS": "4", "DEBUG": "no", "RATE": "1.50"}, "range": [1, 1000], "timeout": "10m", "memory": "2GiB",
"cpus": 0.5, "require": {"zone": "a"}, "after": ["prepare", {"job": "split", "each": true}]})",
                                  {});
  ASSERT_TRUE(yaml);
  ASSERT_TRUE(json);
  EXPECT_EQ(submission_to_json(yaml->job), submission_to_json(json->job));
  EXPECT_TRUE(yaml->own_items);
  EXPECT_EQ(std::get<NumberItems>(yaml->job.items), (NumberItems{1, 1000}));
}

TEST(JobFile, NamesWhereItsItemsAre) {
  const auto lines = read_job_file("command: [x]\nitems_file: a.txt\nmap: {/mnt: 's3://b'}\n", {});
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->items_file, "a.txt");
  EXPECT_FALSE(lines->own_items);
  EXPECT_EQ(lines->map, (std::vector<std::pair<std::string, std::string>>{{"/mnt", "s3://b"}}));
  const auto objects = read_job_file("command: [x]\njsonl: a.jsonl\n", {});
  ASSERT_TRUE(objects);
  EXPECT_EQ(objects->job.definition.items, ItemKind::json);
}

TEST(JobFile, NeedsOnlyWhatNobodyElseGives) {
  EXPECT_TRUE(read_job_file("name: x\n", {.command = false, .items = false}));
  const auto file = read_job_file("name: x\n", {});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().size(), 2U);
}

TEST(JobFile, AnImageThatIsNotFilledInIsNoJobWithoutOne) {
  for (const char* nothing : {"", "null", "''"}) {
    const auto file = read_job_file(std::string("command: [x]\nrange: 1-2\nimage: ") + nothing + "\n", {});
    ASSERT_FALSE(file) << nothing;
    EXPECT_EQ(file.error().front().field, "image");
  }
  EXPECT_TRUE(read_job_file("command: [x]\nrange: 1-2\nuser:\n", {}));
}

TEST(JobFile, OfManyProblemsTheFirstAreShown) {
  std::string text = "command: [x]\nitems:\n";
  for (int i = 0; i < 60; ++i) text += "  - [a]\n";
  const auto file = read_job_file(text, {});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().size(), 60U);
  const std::string shown = show_problems("j.yaml", text, file.error());
  EXPECT_NE(shown.find("has 60 problems"), std::string::npos);
  EXPECT_NE(shown.find("'items[49]'"), std::string::npos);
  EXPECT_EQ(shown.find("'items[50]'"), std::string::npos);
  EXPECT_TRUE(shown.ends_with("\n… and 10 more\n")) << shown;
}

TEST(JobFile, ALongLineIsShownAroundItsProblem) {
  const std::string text = "command: [x]\nitems: [" + std::string(300, 'a') + ", [b]]\n";
  const auto file = read_job_file(text, {});
  ASSERT_FALSE(file);
  const std::string shown = show_problems("j.yaml", text, file.error());
  EXPECT_NE(shown.find("j.yaml:2:311: field 'items[1]' is a list"), std::string::npos) << shown;
  const std::size_t begin = shown.find("  2 | ");
  const std::size_t caret = shown.find('^', begin) - shown.rfind('\n', shown.find('^', begin));
  const std::size_t letter = shown.find('[', begin) - shown.rfind('\n', shown.find('[', begin));
  EXPECT_EQ(caret, letter) << shown;
  EXPECT_LT(shown.size(), 500U);
}

}  // namespace
}  // namespace drover
