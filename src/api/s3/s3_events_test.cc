#include "api/s3/s3_events.h"

#include <gtest/gtest.h>

namespace drover::aws {
namespace {

TEST(S3Events, AreThoseThatReadersOfS3Know) {
  ObjectEvent event{.stream = "q",
                    .rule = "r",
                    .event = "ObjectCreated:Put",
                    .bucket = "photos",
                    .region = "eu-west-1",
                    .key = "in/a b+c\xc3\xa4.jpg",
                    .size = 7,
                    .etag = "abc",
                    .sequence = 255,
                    .time_ms = 1'700'000'000'123,
                    .cause = {"me", "127.0.0.1", "id"}};
  EXPECT_EQ(event_text(event, {}),
            R"({"Records":[{"eventVersion":"2.1","eventSource":"aws:s3","awsRegion":"eu-west-1",)"
            R"("eventTime":"2023-11-14T22:13:20.123Z","eventName":"ObjectCreated:Put",)"
            R"("userIdentity":{"principalId":"AWS:me"},"requestParameters":{"sourceIPAddress":"127.0.0.1"},)"
            R"("responseElements":{"x-amz-request-id":"id","x-amz-id-2":"drover"},)"
            R"("s3":{"s3SchemaVersion":"1.0","configurationId":"r","bucket":{"name":"photos",)"
            R"("ownerIdentity":{"principalId":"123456789012"},"arn":"arn:aws:s3:::photos"},)"
            R"("object":{"key":"in/a+b%2Bc%C3%A4.jpg","size":7,"eTag":"abc","sequencer":"00000000000000FF"}}}]})");
  event.event = "ObjectRemoved:Delete";
  event.version = "v";
  EXPECT_TRUE(event_text(event, {}).contains(
      R"("object":{"key":"in/a+b%2Bc%C3%A4.jpg","versionId":"v","sequencer":"00000000000000FF"})"));
  event.event = "TestEvent";
  EXPECT_EQ(event_text(event, {}), R"({"Service":"Amazon S3","Event":"s3:TestEvent","Time":"2023-11-14T22:13:20.123Z",)"
                                   R"("Bucket":"photos","RequestId":"id","HostId":"drover"})");
}

}  // namespace
}  // namespace drover::aws
