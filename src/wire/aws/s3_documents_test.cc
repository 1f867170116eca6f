#include "wire/aws/s3_documents.h"

#include <gtest/gtest.h>

namespace drover::aws {
namespace {

TEST(S3Documents, WhatIsToBeDeleted) {
  const auto read = read_delete_request(
      "<?xml version=\"1.0\"?><Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>"
      "<Object><Key>a&amp;b &lt;&#x1F411;</Key></Object><Object><Key> "
      "</Key><VersionId>null</VersionId></Object></Delete>");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->is_quiet);
  ASSERT_EQ(read->objects.size(), 2U);
  EXPECT_EQ(read->objects[0].key, "a&b <\xf0\x9f\x90\x91");
  EXPECT_EQ(read->objects[1].key, " ");
  EXPECT_EQ(read->objects[1].version, "null");
  EXPECT_FALSE(read_delete_request("<Delete/>"));
  EXPECT_FALSE(read_delete_request("<Delete><Object><Key></Key></Object></Delete>"));
  EXPECT_FALSE(read_delete_request("<Other/>"));
  EXPECT_FALSE(read_delete_request("<Delete><Object>"));
  EXPECT_FALSE(read_delete_request(""));
}

TEST(S3Documents, EntitiesAreNotExpandedAndDepthCostsNothing) {
  const auto read = read_delete_request(
      "<!DOCTYPE d [<!ENTITY a \"xxxxxxxxxx\"><!ENTITY b \"&a;&a;&a;\"><!ENTITY c SYSTEM \"file:///etc/passwd\">]>"
      "<Delete><Object><Key>&b;&c;</Key></Object></Delete>");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->objects[0].key, "&b;&c;");
  std::string deep = "<Delete>";
  for (int i = 0; i < 500'000; ++i) deep += "<a>";
  EXPECT_FALSE(read_delete_request(deep));
}

TEST(S3Documents, PartsOfAnUpload) {
  const auto read = read_complete_request(
      "<CompleteMultipartUpload><Part><ETag>\"aa\"</ETag><PartNumber>2</PartNumber><ChecksumCRC32>x=</ChecksumCRC32>"
      "</Part><Part><PartNumber>5</PartNumber><ETag>bb</ETag></Part></CompleteMultipartUpload>");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->parts.size(), 2U);
  EXPECT_EQ(read->parts[0].number, 2U);
  EXPECT_EQ(read->parts[0].etag, "aa");
  EXPECT_EQ(read->parts[0].checksums.at(0), (std::pair<std::string, std::string>("crc32", "x=")));
  EXPECT_EQ(read->parts[1].etag, "bb");
  EXPECT_FALSE(read_complete_request(
      "<CompleteMultipartUpload><Part><PartNumber>x</PartNumber></Part></CompleteMultipartUpload>"));
}

TEST(S3Documents, SettingsOfABucket) {
  EXPECT_EQ(read_versioning("<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>"),
            "Suspended");
  EXPECT_FALSE(read_versioning("<VersioningConfiguration><Status>On</Status></VersioningConfiguration>"));
  const auto tags = read_tagging("<Tagging><TagSet><Tag><Key>team</Key><Value>a b</Value></Tag></TagSet></Tagging>");
  ASSERT_TRUE(tags);
  EXPECT_EQ(tags->at(0).second, "a b");
  EXPECT_EQ(read_location(""), "");
  EXPECT_EQ(
      read_location(
          "<CreateBucketConfiguration><LocationConstraint>eu-west-1</LocationConstraint></CreateBucketConfiguration>"),
      "eu-west-1");
  EXPECT_TRUE(
      check_cors("<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod><AllowedOrigin>*</AllowedOrigin>"
                 "</CORSRule></CORSConfiguration>"));
  EXPECT_FALSE(check_cors("<CORSConfiguration/>"));
}

TEST(S3Documents, WhereEventsGo) {
  const auto read = read_notification(
      "<NotificationConfiguration><QueueConfiguration><Id>r</Id><Queue>arn:aws:sqs:x:1:q</Queue>"
      "<Event>s3:ObjectCreated:*</Event><Event>s3:ObjectRemoved:Delete</Event><Filter><S3Key>"
      "<FilterRule><Name>Prefix</Name><Value>in/</Value></FilterRule>"
      "<FilterRule><Name>suffix</Name><Value>.jpg</Value></FilterRule></S3Key></Filter></QueueConfiguration>"
      "</NotificationConfiguration>");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->queues.size(), 1U);
  EXPECT_EQ(read->queues[0].prefix, "in/");
  EXPECT_EQ(read->queues[0].suffix, ".jpg");
  EXPECT_EQ(read->queues[0].events.size(), 2U);
  EXPECT_EQ(read->other, "");
  EXPECT_TRUE(read_notification("<NotificationConfiguration/>")->queues.empty());
  EXPECT_EQ(read_notification("<NotificationConfiguration><TopicConfiguration/></NotificationConfiguration>")->other,
            "TopicConfiguration");
  EXPECT_FALSE(
      read_notification("<NotificationConfiguration><QueueConfiguration><Queue>q</Queue></QueueConfiguration></"
                        "NotificationConfiguration>"));
}

}  // namespace
}  // namespace drover::aws
