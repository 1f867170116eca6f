#include "wire/aws/output.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>

#include "wire/aws/times.h"

namespace drover::aws {
namespace {

namespace json = boost::json;

const Model& output_model() {
  static const Model parsed = *Model::parse(
      "structure Pair\n"
      "  name   string\n"
      "operation List\n"
      "returns\n"
      "  pairs   [Pair]    as=pairSet\n"
      "  tags    {string}\n"
      "  names   [string]  flat as=Name\n"
      "  count   integer\n"
      "  share   double\n"
      "  at      time\n"
      "  data    blob\n"
      "  open    boolean\n"
      "operation Drop\n");
  return parsed;
}

json::object sample() {
  return {{"pairs", json::array{json::object{{"name", "a<b"}}}},
          {"tags", json::object{{"k", "v"}}},
          {"names", json::array{"x", "y"}},
          {"count", 3},
          {"share", 0.5},
          {"at", 1500},
          {"data", "hi"},
          {"open", true}};
}

TEST(Output, WritesJson) {
  EXPECT_EQ(json_output(*output_model().find("List")->output, sample()),
            R"({"pairSet":[{"name":"a<b"}],"tags":{"k":"v"},"Name":["x","y"],"count":3,"share":0.5,"at":1.5,)"
            R"("data":"aGk=","open":true})");
  EXPECT_EQ(json_output(*output_model().find("Drop")->output, {}), "{}");
}

TEST(Output, WritesQueryXml) {
  EXPECT_EQ(query_output(*output_model().find("List"), sample(), "urn:x", "id-1"),
            "<ListResponse xmlns=\"urn:x\"><ListResult><pairSet><member><name>a&lt;b</name></member></pairSet>"
            "<tags><entry><key>k</key><value>v</value></entry></tags><Name>x</Name><Name>y</Name><count>3</count>"
            "<share>0.5</share><at>1970-01-01T00:00:01.500Z</at><data>aGk=</data><open>true</open></ListResult>"
            "<ResponseMetadata><RequestId>id-1</RequestId></ResponseMetadata></ListResponse>");
  EXPECT_EQ(
      query_output(*output_model().find("Drop"), {}, "urn:x", "id-1"),
      "<DropResponse xmlns=\"urn:x\"><ResponseMetadata><RequestId>id-1</RequestId></ResponseMetadata></DropResponse>");
}

TEST(Output, HasOtherNamesInXmlWhereThoseAreDescribed) {
  const Model model = *Model::parse(
      "operation Get\n"
      "returns\n"
      "  Urls  [string]  flat xml=Url\n"
      "  Tags  {string}  flat xml=Tag keys=Key,Value\n");
  const json::object value{{"Urls", json::array{"x"}}, {"Tags", json::object{{"k", "v"}}}};
  EXPECT_EQ(json_output(*model.find("Get")->output, value), R"({"Urls":["x"],"Tags":{"k":"v"}})");
  EXPECT_EQ(query_output(*model.find("Get"), value, "urn:x", "id-1"),
            "<GetResponse xmlns=\"urn:x\"><GetResult><Url>x</Url><Tag><Key>k</Key><Value>v</Value></Tag></GetResult>"
            "<ResponseMetadata><RequestId>id-1</RequestId></ResponseMetadata></GetResponse>");
}

TEST(Output, WritesEc2Xml) {
  EXPECT_EQ(
      ec2_output(*output_model().find("List"), {{"pairs", json::array{json::object{{"name", "a"}}}}}, "urn:x", "id-1"),
      "<ListResponse xmlns=\"urn:x\"><requestId>id-1</requestId><pairSet><item><name>a</name></item></pairSet>"
      "</ListResponse>");
}

TEST(Output, XmlCarriesAnyText) {
  EXPECT_EQ(xml_text("a\x01&\"\xff\n"), "a?&amp;&quot;\xef\xbf\xbd\n");
}

TEST(Times, AreReadAndWritten) {
  EXPECT_EQ(parse_iso_time("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_iso_time("2026-11-17T14:00:00.25Z"), 1794924000250);
  EXPECT_EQ(parse_iso_time("2026-11-17T15:00:00.250+01:00"), 1794924000250);
  EXPECT_EQ(iso_time(1794924000250), "2026-11-17T14:00:00.250Z");
  for (const char* wrong :
       {"", "2026", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00",
        "2026-01-01T00:00:00Zx", "-026-01-01T00:00:00Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+1:00"}) {
    EXPECT_FALSE(parse_iso_time(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace drover::aws
