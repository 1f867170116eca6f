#include "worker/job_staging.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

JobStaging staging_of(const Definition& definition) {
  auto made = make_job_staging(definition);
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

TEST(JobStaging, AnItemIsTheUriOfItsObject) {
  const JobStaging it = staging_of({.command = {"x"}, .download = true, .output = "s3://photos/out/{/.}"});
  EXPECT_EQ(*it.input_of("s3://photos/in/a.jpg"), "s3://photos/in/a.jpg");
  EXPECT_EQ(it.item_with_file("s3://photos/in/a.jpg", "/tmp/a.jpg"), "/tmp/a.jpg");
  EXPECT_EQ(*it.output_of("s3://photos/in/a.jpg", ItemIndex{0}), "s3://photos/out/a");
  EXPECT_TRUE(check_staging(it, "s3://photos/in/a.jpg", ItemIndex{0}));
  for (const char* wrong : {"a.jpg", "s3://photos/in/", "s3://photos", "ftp://x/y", ""}) {
    EXPECT_FALSE(check_staging(it, wrong, ItemIndex{0})) << wrong;
  }
}

TEST(JobStaging, AJsonItemHasItInAField) {
  const JobStaging it =
      staging_of({.command = {"x"}, .items = ItemKind::json, .download = true, .output = "s3://photos/{label}/"});
  const std::string item = R"({"uri":"s3://photos/a.jpg","label":"cat"})";
  EXPECT_EQ(*it.input_of(item), "s3://photos/a.jpg");
  EXPECT_EQ(it.item_with_file(item, "/tmp/a.jpg"), R"({"uri":"/tmp/a.jpg","label":"cat"})");
  EXPECT_EQ(*it.output_of(item, ItemIndex{0}), "s3://photos/cat/");
  const auto none = check_staging(it, R"({"label":"cat"})", ItemIndex{0});
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().message.contains("has no field 'uri'")) << none.error().message;
  EXPECT_FALSE(check_staging(it, R"({"uri":3,"label":"cat"})", ItemIndex{0}));
}

TEST(JobStaging, AJobWithoutEitherNeedsNothing) {
  EXPECT_FALSE(uses_staging({.command = {"x"}}));
  const JobStaging it = staging_of({.command = {"x"}, .output = "file:///out"});
  EXPECT_EQ(*it.input_of("anything"), "");
  EXPECT_EQ(*it.output_of("anything", ItemIndex{7}), "file:///out") << "an output without placeholders is no argument";
  EXPECT_TRUE(check_staging(it, "anything", ItemIndex{0}));
}

TEST(JobStaging, AFileIsCalledAsItsKeyEnds) {
  const auto name = [](const char* uri) { return staged_file_name(*parse_object_uri(uri)); };
  EXPECT_EQ(name("s3://photos/in/a b.jpg"), "a b.jpg");
  EXPECT_EQ(name("https://host/model.pt?token=x/y"), "model.pt");
  EXPECT_EQ(name("s3://photos/in/.."), "input");
  EXPECT_EQ(name(("s3://photos/" + std::string(500, 'x') + ".jpg").c_str()).size(), 200U);
}

}  // namespace
}  // namespace drover
