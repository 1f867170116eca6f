#include "wire/aws/input.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

namespace drover::aws {
namespace {

namespace json = boost::json;

const Model& model() {
  static const Model parsed = *Model::parse(
      "enum Colour RED | GREEN\n"
      "structure Pair\n"
      "  name   string   required 1..8\n"
      "  value  string\n"
      "operation Paint\n"
      "  colour  Colour\n"
      "  pairs   [Pair]     ..2\n"
      "  hints   {string}\n"
      "  size    integer    2..10\n"
      "  big     long\n"
      "  share   double\n"
      "  wet     boolean\n"
      "  at      time\n"
      "  data    blob\n"
      "operation Tag POST /v1/tags/{arn}\n"
      "  arn     string     uri required\n"
      "  keys    [string]   query as=tagKeys 1..2\n"
      "operation Describe\n"
      "  ids     [string]   as=VpcId\n"
      "  filters [Filter]   as=Filter\n"
      "operation TagQueue\n"
      "  names   [string]   flat xml=Name\n"
      "  tags    {string}   flat xml=Tag keys=Key,Value\n"
      "  more    {Pair}     flat xml=More keys=Name,Value\n"
      "structure Filter\n"
      "  name    string     as=Name\n"
      "  values  [string]   as=Value\n");
  return parsed;
}

std::string said(const Input& input) {
  return input ? json::serialize(*input) : "error: " + input.error().text();
}
std::string from_json(std::string_view body) {
  return said(read_json_input(*model().find("Paint")->input, body));
}
std::string from_query(std::string_view text, QueryDialect dialect = QueryDialect::query,
                       std::string_view operation = "Paint") {
  return said(read_query_input(*model().find(operation)->input, query_pairs(text).value_or(QueryPairs{}), dialect));
}

TEST(Input, ReadsJsonByItsDescription) {
  EXPECT_EQ(from_json(""), "{}");
  EXPECT_EQ(
      from_json(R"({"colour":"RED","pairs":[{"name":"a","value":null}],"hints":{"x":"y"},"size":3,"big":3000000000,
                          "share":1,"wet":true,"at":1.5,"data":"aGk="})"),
      R"({"colour":"RED","pairs":[{"name":"a"}],"hints":{"x":"y"},"size":3,"big":3000000000,"share":1E0,)"
      R"("wet":true,"at":1500,"data":"hi"})");
}

TEST(Input, NamesTheMemberThatIsWrong) {
  EXPECT_EQ(from_json("{"), "error: the body is not valid JSON: incomplete JSON");
  EXPECT_EQ(from_json("[]"), "error: the body must be a JSON object");
  EXPECT_EQ(from_json(R"({"coluor":"RED"})"), "error: coluor is not a member that this operation has");
  EXPECT_EQ(from_json(R"({"colour":"BLUE"})"), "error: colour must be one of RED, GREEN");
  EXPECT_EQ(from_json(R"({"pairs":[{"name":"a"},{"value":"b"}]})"), "error: pairs[1].name is required");
  EXPECT_EQ(from_json(R"({"pairs":[{"name":7}]})"), "error: pairs[0].name must be a string");
  EXPECT_EQ(from_json(R"({"pairs":[{"name":""}]})"), "error: pairs[0].name must have 1 to 8 characters");
  EXPECT_EQ(from_json(R"({"pairs":[{"name":"äöüäöüäöü"}]})"), "error: pairs[0].name must have 1 to 8 characters");
  EXPECT_EQ(from_json(R"({"pairs":[{"name":"a"},{"name":"a"},{"name":"a"}]})"),
            "error: pairs must have at most 2 elements");
  EXPECT_EQ(from_json(R"({"hints":{"a":1}})"), "error: hints['a'] must be a string");
  EXPECT_EQ(from_json(R"({"size":1})"), "error: size must be 2 to 10");
  EXPECT_EQ(from_json(R"({"size":2.5})"), "error: size must be a whole number");
  EXPECT_EQ(from_json(R"({"size":3000000000})"), "error: size must fit in 32 bits");
  EXPECT_EQ(from_json(R"({"big":18000000000000000000})"), "error: big is too large");
  EXPECT_EQ(from_json(R"({"wet":"true"})"), "error: wet must be true or false");
  EXPECT_EQ(from_json(R"({"at":"now"})"), "error: at must be a time in seconds since 1970");
  EXPECT_EQ(from_json(R"({"data":"*"})"), "error: data must be bytes in base64");
}

TEST(Input, TakesMembersFromThePathAndTheQuery) {
  const Shape& tag = *model().find("Tag")->input;
  EXPECT_EQ(said(read_json_input(tag, "", {{"arn", "arn:x"}, {"tagKeys", "a"}, {"tagKeys", "b"}})),
            R"({"arn":"arn:x","keys":["a","b"]})");
  EXPECT_EQ(said(read_json_input(tag, "", {})), "error: arn is required");
  EXPECT_EQ(said(read_json_input(tag, R"({"arn":"x"})", {})), "error: arn is not a member that this operation has");
  EXPECT_EQ(said(read_json_input(tag, "", {{"arn", "x"}, {"more", "y"}})),
            "error: more is not a parameter that this operation has");
}

TEST(Input, ReadsQueryParameters) {
  EXPECT_EQ(
      from_query("colour=GREEN&pairs.member.2.name=b&pairs.member.1.name=a&hints.entry.1.key=k&hints.entry.1.value=v"
                 "&size=3&share=0.5&wet=false&at=1970-01-01T00:00:01.5Z&data=aGk%3D"),
      R"({"colour":"GREEN","pairs":[{"name":"a"},{"name":"b"}],"hints":{"k":"v"},"size":3,"share":5E-1,"wet":false,)"
      R"("at":1500,"data":"hi"})");
  EXPECT_EQ(from_query("pairs="), R"({"pairs":[]})");
  EXPECT_EQ(from_query("pairs.member.1.value=b"), "error: pairs[0].name is required");
  EXPECT_EQ(from_query("pairs.member.1.nom=b"), "error: pairs.member.1.nom is not a parameter that this operation has");
  EXPECT_EQ(from_query("colour.x=RED"), "error: colour must be a single value");
  EXPECT_EQ(from_query("pairs.member.x.name=b"),
            "error: pairs.member.x.name is not a parameter that this operation has");
  EXPECT_EQ(from_query("nothing=1"), "error: nothing is not a parameter that this operation has");
  EXPECT_EQ(from_query("size=1&size=2"), "error: size was sent twice");
  EXPECT_EQ(from_query("size=1x"), "error: size must be a whole number");
  EXPECT_EQ(from_query("at=yesterday"), "error: at must be a time such as 2026-01-31T12:00:00Z");
}

TEST(Input, ReadsOtherNamesInQueriesWhereThoseAreDescribed) {
  EXPECT_EQ(from_query("Name.1=a&Tag.1.Key=k&Tag.1.Value=v&More.1.Name=m&More.1.Value.name=n", QueryDialect::query,
                       "TagQueue"),
            R"({"names":["a"],"tags":{"k":"v"},"more":{"m":{"name":"n"}}})");
  EXPECT_EQ(from_query("Tag.1.Value=v", QueryDialect::query, "TagQueue"), "error: tags[1] has no key");
  EXPECT_EQ(from_query("names=", QueryDialect::query, "TagQueue"), R"({"names":[]})");
  const Shape& shape = *model().find("TagQueue")->input;
  EXPECT_EQ(said(read_json_input(shape, R"({"names":["a"],"tags":{"k":"v"}})")), R"({"names":["a"],"tags":{"k":"v"}})");
}

TEST(Input, ReadsEc2Parameters) {
  EXPECT_EQ(from_query("VpcId.1=a&VpcId.2=b&Filter.1.Name=tag&Filter.1.Value.1=x", QueryDialect::ec2, "Describe"),
            R"({"ids":["a","b"],"filters":[{"name":"tag","values":["x"]}]})");
}

}  // namespace
}  // namespace drover::aws
