// Something to begin with, for every target: seeds FOLDER writes FOLDER/TARGET/NUMBER.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "accel/ld_cache.h"
#include "keys/certificates.h"
#include "keys/join_token.h"
#include "keys/session.h"
#include "logs/extents.h"
#include "logs/frame.h"
#include "logs/record.h"
#include "wire/definition.h"
#include "wire/problem_json.h"
#include "wire/submission.h"
#include "wire/worker_protocol.h"

namespace drover {
namespace {

class Folder {
 public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}

  void put(const char* target, const std::vector<std::string>& seeds) const {
    std::filesystem::create_directories(path_ / target);
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      std::ofstream(path_ / target / ("seed-" + std::to_string(i)), std::ios::binary) << seeds[i];
    }
  }

 private:
  const std::filesystem::path path_;
};

std::string a_frame() {
  std::string records;
  for (std::uint64_t i = 0; i < 3; ++i) {
    append_record(records,
                  {{JobId{1}, ItemIndex{i % 2}, AttemptNumber{1}}, LogStream::out, 1'700'000'000'000, "a line\n"});
  }
  FramePacker packer;
  return std::string(packer.pack(records));
}

Report a_report() {
  return {
      .worker = WorkerId{1},
      .incarnation = 7,
      .ended = {{.token = {GrantId{1}, ItemIndex{0}}, .outcome = {.reason = "exit status 3"}, .usage = {.wall_us = 9}}},
      .running = {{{GrantId{1}, ItemIndex{1}}, 1'000'500}},
      .returned = {{GrantId{1}, ItemIndex{2}}}};
}

/// Session tokens of another server.
std::vector<std::string> session_tokens() {
  const SecretText secret("not the secret of the target");
  const Uuid job = Uuid::from_random({7});
  const SecretText attempts = make_attempts_key(secret, job, "AKDRGIVER", 1'900'000'000'000);
  constexpr Token kToken{GrantId{5}, ItemIndex{7}};
  AwsSession session{.giver = "AKDRGIVER", .role = "role", .name = "me", .expires_ms = 1'900'000'000'000};
  const std::string of_role = make_session(secret, session).session_token;
  session.job = job;
  session.attempt = kToken;
  return {of_role, make_session(secret, session).session_token, attempts.reveal(),
          attempt_credentials(attempts.reveal(), kToken, AttemptNumber{2}).session_token};
}

/// Requests to the APIs of AWS, each after what it needs. The first byte chooses the caller.
std::vector<std::string> aws_requests() {
  const std::string queues =
      R"(sqs CreateQueue
{"QueueName":"q","Attributes":{"VisibilityTimeout":"5"},"tags":{"a":"b"}}

sqs
Action=CreateQueue&QueueName=d&Attribute.1.Name=DelaySeconds&Attribute.1.Value=0&Tag.1.Key=a&Tag.1.Value=b

sqs CreateQueue
{"QueueName":"f.fifo","Attributes":{"FifoQueue":"true","ContentBasedDeduplication":"true"}}

)";
  const std::string set_up =
      R"(batch POST /v1/createcomputeenvironment
{"computeEnvironmentName":"e","type":"UNMANAGED","unmanagedvCpus":4,"tags":{"a":"b"}}

batch POST /v1/createschedulingpolicy
{"name":"p","fairsharePolicy":{"shareDistribution":[{"shareIdentifier":"a*","weightFactor":2}]}}

batch POST /v1/createjobqueue
{"jobQueueName":"q","priority":1,"computeEnvironmentOrder":[{"order":1,"computeEnvironment":"e"}]}

batch POST /v1/registerjobdefinition
{"jobDefinitionName":"d","type":"container","parameters":{"x":"y"},"retryStrategy":{"attempts":2,"evaluateOnExit":)"
      R"([{"onExitCode":"3*","action":"EXIT"}]},"timeout":{"attemptDurationSeconds":60},"containerProperties":)"
      R"({"image":"busybox","command":["echo","Ref::x"],"environment":[{"name":"A","value":"b"}],)"
      R"("resourceRequirements":[{"type":"VCPU","value":"1"},{"type":"MEMORY","value":"128"}]}}

)";
  const std::string role =
      R"(iam
Action=CreateRole&RoleName=r&AssumeRolePolicyDocument=%7B%22Statement%22%3A%7B%22Effect%22%3A%22Allow%22%2C%22)"
      R"(Principal%22%3A%22%2A%22%2C%22Action%22%3A%22sts%3AAssumeRole%22%7D%7D

iam
Action=PutRolePolicy&RoleName=r&PolicyName=p&PolicyDocument=%7B%22Statement%22%3A%7B%22Effect%22%3A%22Allow%22%2C%22)"
      R"(Action%22%3A%22%2A%22%2C%22Resource%22%3A%22%2A%22%7D%7D

)";
  const std::string job = "6f1c1f9e-2f0b-4c53-9d3f-0a8f7f5b1c11";
  return {
      "0" + set_up +
          R"(batch POST /v1/submitjob
{"jobName":"j","jobQueue":"q","jobDefinition":"d:1","arrayProperties":{"size":3},"parameters":{"x":"z"},)"
          R"("containerOverrides":{"command":["true"],"environment":[{"name":"A","value":"c"}]},)"
          R"("dependsOn":[{"jobId":")" +
          job + R"(","type":"N_TO_N"}]}

batch POST /v1/listjobs
{"jobQueue":"q","maxResults":1,"filters":[{"name":"JOB_NAME","values":["j*"]}]})",
      "0" + set_up +
          "batch POST /v1/tags/arn%3Aaws%3Abatch%3Aus-east-1%3A123456789012%3Ajob-queue%2Fq\n{\"tags\":{\"a\":"
          "\"b\"}}\n\nbatch DELETE "
          "/v1/tags/arn%3Aaws%3Abatch%3Aus-east-1%3A123456789012%3Ajob-queue%2Fq?tagKeys=a\n\n"
          "batch POST /v1/updatejobqueue\n{\"jobQueue\":\"q\",\"state\":\"DISABLED\",\"priority\":5}",
      "0batch POST /v1/describejobs\n{\"jobs\":[\"" + job + "\",\"" + job + ":1\"]}\n\nbatch POST /v1/listjobs\n" +
          R"({"arrayJobId":")" + job + R"(","maxResults":1,"nextToken":"1","jobStatus":"RUNNABLE"})",
      "0batch POST /v1/terminatejob\n{\"jobId\":\"" + job + R"(","reason":"no"})",
      R"(0logs CreateLogGroup
{"logGroupName":"g","tags":{"a":"b"}}

logs CreateLogStream
{"logGroupName":"g","logStreamName":"s"}

logs PutRetentionPolicy
{"logGroupName":"g","retentionInDays":7}

logs DescribeLogStreams
{"logGroupName":"g","orderBy":"LastEventTime","descending":true,"limit":1,"nextToken":"0"}

logs DescribeLogGroups
{"logGroupNamePrefix":"/aws","limit":1})",
      "0logs GetLogEvents\n{\"logGroupName\":\"/aws/batch/job\",\"logStreamName\":\"drover-native/default/" + job +
          R"(.0","startTime":0,"endTime":1900000000000,"nextToken":"f/1","limit":1})",
      "0logs FilterLogEvents\n"
      R"({"logGroupName":"/aws/batch/job","filterPattern":"?t -\"two\"","startTime":1,"endTime":9223372036854775807,)"
      R"("nextToken":"r/)" +
          job + R"(.0.2.1","limit":1})",
      R"(0ec2
Action=CreateSecurityGroup&GroupName=g&GroupDescription=d&VpcId=vpc-0d0be700000000001&TagSpecification.1.ResourceType=)"
      R"(security-group&TagSpecification.1.Tag.1.Key=a&TagSpecification.1.Tag.1.Value=b

ec2
Action=AuthorizeSecurityGroupIngress&GroupName=g&IpPermissions.1.IpProtocol=tcp&IpPermissions.1.FromPort=22&)"
      R"(IpPermissions.1.ToPort=22&IpPermissions.1.IpRanges.1.CidrIp=10.0.0.0/8

ec2
Action=DescribeSecurityGroups&Filter.1.Name=tag:a&Filter.1.Value.1=b*&MaxResults=5&NextToken=0)",
      R"(0ec2
Action=CreateLaunchTemplate&LaunchTemplateName=ttt&LaunchTemplateData.ImageId=ami-1&LaunchTemplateData.UserData=aGk=

ec2
Action=CreateLaunchTemplateVersion&LaunchTemplateName=ttt&SourceVersion=1&LaunchTemplateData.InstanceType=c5.large

ec2
Action=DescribeLaunchTemplateVersions&LaunchTemplateName=ttt&LaunchTemplateVersion.1=$Latest

ec2
Action=DescribeSubnets&Filter.1.Name=vpc-id&Filter.1.Value.1=vpc-*

ec2
Action=DescribeInstanceTypes&InstanceType.1=c5.large&Filter.1.Name=instance-type&Filter.1.Value.1=c5*)",
      R"(0ec2
Action=ImportKeyPair&KeyName=k&PublicKeyMaterial=c3NoLWVkMjU1MTkgQUFBQUMzTnphQzFsWkRJMU5URTVBQUFBSUFBQUFBQUFBQ)"
      R"(UFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE%3D

ec2
Action=DescribeKeyPairs&KeyName.1=k)",
      "2" + role +
          "sts\nAction=AssumeRole&RoleArn=arn:aws:iam::123456789012:role/r&RoleSessionName=me&DurationSeconds=900",
      "2" + role + "batch POST /v1/describejobqueues\n{}",
      "0" + role +
          "iam\nAction=CreateInstanceProfile&InstanceProfileName=p\n\niam\n"
          "Action=AddRoleToInstanceProfile&InstanceProfileName=p&RoleName=r\n\niam\nAction=ListRoles&MaxItems=1",
      "1sts\nAction=GetCallerIdentity&Version=2011-06-15",
      "0" + queues +
          R"(sqs SendMessage
{"QueueUrl":"http://h/123456789012/q","MessageBody":"x","DelaySeconds":1,"MessageAttributes":{"a":{"DataType":"Number.int",)"
          R"("StringValue":"1"},"b":{"DataType":"Binary","BinaryValue":"aGk="}}}

sqs ReceiveMessage
{"QueueUrl":"http://h/123456789012/q","MaxNumberOfMessages":10,"VisibilityTimeout":0,"AttributeNames":["All"],)"
          R"("MessageAttributeNames":["a.*","b"],"MessageSystemAttributeNames":["SenderId"]})",
      "0" + queues +
          R"(sqs SendMessageBatch
{"QueueUrl":"/123456789012/f.fifo","Entries":[{"Id":"a","MessageBody":"x","MessageGroupId":"g"},{"Id":"b","MessageBody":"y"}]}

sqs ReceiveMessage
{"QueueUrl":"/123456789012/f.fifo"}

sqs DeleteMessageBatch
{"QueueUrl":"/123456789012/f.fifo","Entries":[{"Id":"a","ReceiptHandle":"AAAA"}]}

sqs PurgeQueue
{"QueueUrl":"/123456789012/f.fifo"})",
      "0" + queues +
          "sqs\nAction=SendMessageBatch&QueueUrl=/123456789012/q&SendMessageBatchRequestEntry.1.Id=a&"
          "SendMessageBatchRequestEntry.1.MessageBody=x&SendMessageBatchRequestEntry.1.MessageAttribute.1.Name=n&"
          "SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.DataType=String&"
          "SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.StringValue=v\n\nsqs\n"
          "Action=ReceiveMessage&QueueUrl=/123456789012/q&MessageAttributeName.1=All&AttributeName.1=All",
      "2" + queues +
          "sqs\nAction=AddPermission&QueueUrl=/123456789012/q&Label=l&AWSAccountId.1=111122223333&ActionName.1=*\n\n"
          "sqs\nAction=GetQueueAttributes&QueueUrl=/123456789012/q&AttributeName.1=All",
      "0" + queues +
          R"(sqs SetQueueAttributes
{"QueueUrl":"/123456789012/q","Attributes":{"RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:123456789012:d\",)"
          R"(\"maxReceiveCount\":\"1\"}","Policy":"{\"Statement\":{\"Effect\":\"Deny\",\"Principal\":\"*\",\"Action\":\"sqs:*\",)"
          R"(\"Resource\":\"*\"}}"}}

sqs TagQueue
{"QueueUrl":"/123456789012/q","Tags":{"a":"b"}}

sqs ListDeadLetterSourceQueues
{"QueueUrl":"/123456789012/d","MaxResults":1})"};
}

void write_seeds(const Folder& folder) {
  folder.put("http_request",
             {"\x05GET /api/v1/jobs?limit=5 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a.b\r\n\r\n",
              "\x01POST /join HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcdeGET / HTTP/1.1\r\nHost: x\r\n\r\n",
              "\x07POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
              "5;a=b\r\nabcde\r\n0\r\nTrailer: x\r\n\r\n",
              "\x02GET http://x/y?z HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"});
  folder.put(
      "oci_config",
      {R"({"ociVersion":"1.0.2","process":{"env":["PATH=/bin"],"args":["sh"]},"root":{"path":"rootfs"},)"
       R"("mounts":[{"destination":"/proc","type":"proc","source":"proc"}],"linux":{"resources":{"devices":[]}}})",
       R"({ "process" : {} , "hooks":{"prestart":[{"path":"/a"}]}, "linux" : null, "annotations":{"a":"b"} })"});
  folder.put(
      "cdi_file",
      {R"({"cdiVersion":"0.5.0","kind":"nvidia.com/gpu","devices":[{"name":"0","containerEdits":)"
       R"({"deviceNodes":[{"path":"/dev/nvidia0","hostPath":"/dev/nvidia0"}]}}],"containerEdits":{"env":["A=b"],)"
       R"("hooks":[{"hookName":"createContainer","path":"/x","args":["x"]}],)"
       R"("mounts":[{"hostPath":"/a","containerPath":"/a","options":["ro"]}]}})",
       "cdiVersion: 0.6.0\nkind: a.b/c\ndevices:\n- name: all\n  containerEdits:\n    env: [X=y]\n",
       "nvidia.com/gpu=0"});
  LdCache cache;
  cache.entries = {{.flags = 0x0303, .name = "libc.so.6", .path = "/lib/libc.so.6"},
                   {.flags = 0x0303, .name = "libz.so.1", .path = "/lib/libz.so.1", .hardware = 1ULL << 62}};
  cache.hardware_names = {"x86-64-v3"};
  folder.put("ld_cache", {write_ld_cache(cache), write_ld_cache({})});
  folder.put("registry_answer",
             {R"(Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:x:pull")",
              R"(Basic realm="a \"b\"")", R"({"auths":{"https://index.docker.io/v1/":{"auth":"YW5uOnNlY3JldA=="}}})",
              "http://10.0.0.7:5000", "docker.io", "none"});
  folder.put("url", {"/api/v1/jobs/a%2Fb/items/3/log", "a=1&b=x+y&c=%41&&d", "1.5h", "512MiB", "18446744073709551615",
                     "6f1c1f9e-2f0b-4c53-9d3f-0a8f7f5b1c11", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x82\xff"});
  folder.put("authorization",
             {"AKDRAAAAAAAAAAAAAAAA.0123456789abcdef", "drover-job-eyJqb2IiOiJ4In0.AAAA", "JNDRAAAAAAAAAAAAAAAA.x"});
  folder.put("aws_api", aws_requests());
  folder.put("aws_session", session_tokens());
  folder.put("receipt_handle", {"AAAAAAAAAAEAAAAAAAAQAAAAAAAAAAABBIpbUCYRgq0=", "AAAA"});
  folder.put("chunked_body", {"6\r\nhello\n\r\n0\r\nx-amz-checksum-crc32:NjowIA==\r\n\r\n",
                              "3;chunk-signature=00\r\nabc\r\n0\r\n\r\n"});
  folder.put(
      "s3_documents",
      {"<Delete><Quiet>true</Quiet><Object><Key>a&amp;b</Key><VersionId>null</VersionId></Object></Delete>",
       "<CompleteMultipartUpload><Part><ETag>\"aa\"</ETag><PartNumber>2</PartNumber></Part></CompleteMultipartUpload>",
       "<Tagging><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tagging>",
       "<NotificationConfiguration><QueueConfiguration><Queue>q</Queue><Event>e</Event><Filter><S3Key><FilterRule>"
       "<Name>prefix</Name><Value>p</Value></FilterRule></S3Key></Filter></QueueConfiguration>"
       "</NotificationConfiguration>"});
  folder.put("s3_request", {"PUT /photos/a%20b?uploadId=1&partNumber=2\nHost: localhost\nx-amz-acl: private",
                            "GET /?list-type=2&prefix=a\nHost: photos.s3.localhost:80", "POST /photos?delete\n",
                            "PUT /photos/k\nx-amz-copy-source: /b/c"});
  folder.put("batch_names",
             {"6f1c1f9e-2f0b-4c53-9d3f-0a8f7f5b1c11:3", "drover-native/default/6f1c1f9e-2f0b-4c53-9d3f-0a8f7f5b1c11",
              "name:2/default/6f1c1f9e-2f0b-4c53-9d3f-0a8f7f5b1c11.17.2"});
  folder.put("filter_pattern", {"an error at 10\nerror -warning ?\"at 10\"\nat\nerror", "\\ \"\n\"\\\\ \\\"\"\n\\\n\"",
                                "x\n{ $.a = 1 }\n", "x\n[a, b]\n\n", "x\n%x%"});
  folder.put("log_pages",
             {"\1f/1\none\ntwo\nthree\n", "\2b/2\na\n\n\nb", "\7e/6f1c1f9e-2f0b-4c53-9d3f-0a8f7f5b1c11.0.1.2\na\nb",
              "\7r/6f1c1f9e-2f0b-4c53-9d3f-0a8f7f5b1c11.2.1.0\na\nb"});
  folder.put("aws_input",
             {R"(0{"Colour":"RED","Pairs":[{"Name":"a","Inner":{"Values":["x"],"More":{"k":{"Name":"b"}}}}],"Size":3,)"
              R"("Big":-4000000000,"Wet":true,"At":1.5,"Data":"aGk=","Hints":{"a":"b"},"Piece":[{"Name":"c"}]})",
              "1Colour=GREEN&Pairs.member.1.Name=a&Pairs.member.1.Inner.Values.member.2=x&Hints.entry.1.key=k&"
              "Hints.entry.1.value=v&Piece.1.Name=c&Size=4&At=2026-01-31T12%3A00%3A00.5Z&Data=aGk%3D&Wet=false",
              "2Pairs.1.Name=a&Pairs.1.Inner.More.1.key=k&Pairs.1.Inner.More.1.value.Name=b&Piece.7.Name=c"});
  folder.put(
      "aws_policy",
      {"0s3:GetObject\narn:aws:s3:::b/ann/x\narn:aws:iam::111122223333:user/ann\naws:SourceIp\n10.0.0.1\n"
       R"({"Version":"2012-10-17","Id":"i","Statement":[{"Sid":"a","Effect":"Allow","Action":["s3:Get*","s3:?ut*"],)"
       R"("Resource":"arn:aws:s3:::b/${aws:username}/*"},{"Effect":"Deny","NotAction":"s3:*","NotResource":"*",)"
       R"("Condition":{"IpAddress":{"aws:SourceIp":"10.0.0.0/8"},"Bool":{"aws:SecureTransport":false}}}]})",
       "1sqs:SendMessage\narn:aws:sqs:eu:111122223333:q\n\naws:SourceArn\narn:aws:s3:::in\n"
       R"({"Statement":{"Effect":"Allow","Principal":{"AWS":["*","111122223333"],"Service":"s3.amazonaws.com"},)"
       R"("Action":"SQS:SendMessage","Resource":"*","Condition":{"ArnLike":{"aws:SourceArn":["arn:aws:s3:*:*:i?",)"
       R"("arn:*:*:*:*:*"]},"StringNotEqualsIfExists":{"x:y":"${x:z, 'none'}"},"Null":{"a:b":"true"}}}})",
       "2sts:AssumeRole\n\narn:aws:iam::111122223333:root\n\n\n"
       R"({"Version":"2008-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"sts:AssumeRole"}]})"});
  folder.put("aws_signature",
             {"POST /v1/describejobs\nhost:127.0.0.1:5400\ncontent-type:application/json\nx-amz-date:20261115T005638Z\n"
              "authorization:AWS4-HMAC-SHA256 Credential=AKID/20261115/us-east-1/batch/aws4_request, "
              "SignedHeaders=content-type;host;x-amz-date, Signature=02b21fb6fd4b52ac\n\n{\"jobs\": [\"abc\"]}",
              "PUT /b/a%20b?partNumber=1\nhost:h\nx-amz-date:20261115T005638Z\nx-amz-meta-k:two  spaces\n"
              "x-amz-content-sha256:STREAMING-AWS4-HMAC-SHA256-PAYLOAD\nauthorization:AWS4-HMAC-SHA256 "
              "Credential=AKID/20261115/us-east-1/s3/aws4_request,"
              "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-meta-k,Signature=1b7684f3ea745644\n\nx",
              "GET /b/k?versionId=v1&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2F20261115%2Fus-east-1%2Fs3"
              "%2Faws4_request&X-Amz-Date=20261115T005650Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host"
              "&X-Amz-Signature=f6f539c1&X-Amz-Security-Token=t\nhost:h\n",
              "GET /b/k?response-content-type=text%2Fx&uploads&AWSAccessKeyId=AKID&Signature=mU%2BnC2qN%3D"
              "&Expires=1794704270\nx-amz-acl:private\ncontent-md5:x\n"});

  const JoinToken token{.addresses = {"https://10.0.0.1:8750", "https://head:8750"},
                        .ca_fingerprint = std::string(64, 'a'),
                        .secret = SecretText("JNDRAAAAAAAAAAAAAAAA.secret")};
  std::vector<std::string> tokens = {join_token_text(token).reveal()};
  if (const auto authority = make_authority("fuzz", 1'700'000'000'000)) tokens.push_back(authority->own.pem);
  folder.put("join_token", tokens);

  const Poll poll{
      .report = a_report(), .number = PollNumber{2}, .given_up = {PollNumber{1}}, .want = 3, .wait_ms = 100};
  folder.put(
      "worker_message",
      {encode(WorkerPoll{poll, {a_frame()}, {{0}}}), encode(WorkerReport{a_report(), {a_frame()}, {{0}}}),
       encode(WorkerHello{.name = "worker", .incarnation = 7, .labels = {{"gpu", "yes"}}}),
       encode(ItemRange{JobId{1}, ItemIndex{3}, 5}), encode_job_number(JobId{1}), encode_texts({"a", "b"}),
       encode(WorkerUpload{{"frame"}, WorkerId{1}, {{{GrantId{1}, ItemIndex{0}}, Bytes{"\x01\x02\x03"}, {0}}}})});
  const Lease lease{.grant = GrantId{1}, .job = JobId{1}, .first = ItemIndex{0}, .count = 2};
  folder.put("server_answer",
             {encode(WorkerPollAnswer{{PollNumber{1}, {lease}, {{JobId{2}, StopMode::kill_running}}, {}},
                                      {{.texts = {"a", "b"}}}}),
              encode(WorkerWelcome{.worker = WorkerId{1}, .term_ms = 60'000, .poll_wait_ms = 20'000, .server = 3}),
              encode(WorkerJob{JobId{1}, "uuid", "name", "{}", ""}),
              definition_to_json({.command = {"echo", "{}"}, .environment = {{"A", "b"}}}),
              "a" + problem_to_json(404, {ErrorCode::not_found, "there is none", "look elsewhere"}),
              R"({"a":1.0,"b":null,"c":"text","d":[1,{"e":2}]})"});

  const std::string job =
      R"({"name":"a","command":["echo","{}"],"items":["a","b"],"env":{"A":"b"},"retries":2,"timeout":"10m","client_token":"t"})";
  folder.put("submission",
             {job, R"({"command":["true"],"range":[1,100],"workdir":"/tmp","max_failures":3})",
              R"({"command":["true","{a}"],"items":[{"a":1},{"a":"x"}],"log_limit":"1MiB"})",
              R"({"command":["true"],"manifest":7,"retry_on":[{"exit_code":"3","action":"exit"}]})",
              R"({"definition":"a:1","queue":"q","priority":3,"share":"s","after":["a",{"job":"b","each":true}],)"
              R"("gpus":0,"sequential":true,"max_running":5,"job_timeout":"1h","accelerators":{"neuron":1},)"
              R"("range":"1-5","nice":-3,"rules":[{"onExitCode":"3","action":"exit"}]})"});
  folder.put(
      "job_file",
      {job, "name: x\ncommand: [./process, \"{}\"]\nrange: 1-1000\ntimeout: 10m\nmemory: 4GiB\n",
       "shell: true\ncommand: |\n  a {}\n  b\nitems: [{a: 1}, {a: x}]\nenvironment: &e {A: 1, B: 'x'}\nrequire: *e\n",
       "after: [a, {job: b, each: yes}]\ngpus: 1\naccelerators: {amd: 2}\nrules:\n  - {onExitCode: \"75\", action: "
       "RETRY}\n",
       "retries:3\n", "a: \"x\n", "command: [a, {}\n", "\ta: 1\n",
       "dir: x\nmatch: '*.png'\nmap: {/a: 's3://b'}\ncpus: 0.5\n",
       R"({"command": ["\ud83d\ude00"], "items": ["a", 1.0, true], "retry_delay": "1h30m"})"});
  folder.put("native_api", {"POST jobs\n" + job, "GET jobs?limit=3&state=running", "GET jobs/job/items?from=1&limit=2",
                            "GET jobs/job/items/2", "GET jobs/job/items/0/log?tail=3&stream=stderr&attempt=1",
                            "GET jobs/job/search?grep=a+b&failed=1", "POST jobs/job/cancel", "POST jobs/job/retry\n{}",
                            "POST manifests?separator=nul\na", "GET workers",
                            R"(POST jobs
{"command":["true"],"range":[-9223372036854775808,9223372036854775807]})"});
  folder.put("item_lines", {std::string("\0\5one\ntwo\n\nthree", 16), std::string("\1\3a\0b\0\0c", 9)});
  ExtentList extents;
  extents.add({1, 0, 100});
  folder.put("log_frames", {encode_texts({a_frame()}), encode_texts({extents.encode().value}), a_frame(),
                            encode_texts({a_frame(), a_frame()})});
  folder.put("key_calls", {std::string(1, '\0') + R"({"secret":"JNDRAAAAAAAAAAAAAAAA.x","nonce":"n","name":"w"})",
                           "\1"
                           R"({"scope":"read","label":"l","expires":"1h"})",
                           "\2"
                           R"({"uses":2,"expires":"10m","fleet":"f"})",
                           "\3",
                           "\4"
                           "AKDRAAAAAAAAAAAAAAAA"});
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("seeds FOLDER\n", stderr);
    return 2;
  }
  drover::write_seeds(drover::Folder(argv[1]));
  return 0;
}
