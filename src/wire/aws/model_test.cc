#include "wire/aws/model.h"

#include <gtest/gtest.h>

namespace drover::aws {
namespace {

std::string error_of(std::string_view text) {
  const auto model = Model::parse(text);
  return model ? "" : model.error().message;
}

TEST(Model, DescribesOperationsStructuresAndEnums) {
  const auto model = Model::parse(
      "# a comment\n"
      "enum Colour RED | GREEN\n"
      "\n"
      "operation Paint POST /v1/paint/{wall}\n"
      "  wall    string     uri required\n"
      "  colour  Colour     required\n"
      "  layers  [Layer]    1..3\n"
      "  hints   {string}   ..50\n"
      "  keys    [string]   query as=key\n"
      "returns\n"
      "  id      long       required\n"
      "structure Layer\n"
      "  depth   integer    0..\n"
      "operation Wait\n");
  ASSERT_TRUE(model) << model.error().message;
  const Operation* paint = model->find("Paint");
  ASSERT_NE(paint, nullptr);
  EXPECT_EQ(paint->method, "POST");
  EXPECT_EQ(paint->path, "/v1/paint/{wall}");
  EXPECT_EQ(paint->input->find("wall")->location, Location::path);
  EXPECT_EQ(paint->input->find("colour")->shape->words, (std::vector<std::string>{"RED", "GREEN"}));
  EXPECT_EQ(paint->input->find("layers")->shape->element->find("depth")->least, 0);
  EXPECT_EQ(paint->input->find("layers")->most, 3);
  EXPECT_EQ(paint->input->find("hints")->shape->kind, Kind::map);
  EXPECT_EQ(paint->input->find("keys")->wire_name, "key");
  EXPECT_TRUE(paint->output->find("id")->required);
  EXPECT_TRUE(model->find("Wait")->input->members.empty());
  EXPECT_EQ(model->find("Sleep"), nullptr);
}

TEST(Model, NamesTheLineThatIsWrong) {
  EXPECT_EQ(error_of("  name string\n"), "line 1: a member of nothing");
  EXPECT_EQ(error_of("structure A\n  b string maybe\n"), "line 2: unknown word 'maybe'");
  EXPECT_EQ(error_of("structure A\n  b string\n  b string\n"), "line 3: 'b' is described twice");
  EXPECT_EQ(error_of("structure A\n  b B\n"), "'B' is not described");
  EXPECT_EQ(error_of("structure A\nstructure A\n"), "line 2: 'A' is described twice");
  EXPECT_EQ(error_of("returns\n"), "line 1: 'returns' without an operation");
  EXPECT_EQ(error_of("thing A\n"), "line 1: unknown word 'thing'");
}

}  // namespace
}  // namespace drover::aws
