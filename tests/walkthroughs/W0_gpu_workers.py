"""W0: GPU workers behind a queue. Pictures that are put into a bucket become messages; an Auto Scaling group starts machines while there are
messages, and a daemon service on each of them classifies the pictures."""

import base64
import json

from clients import PRIVILEGED, missing, part, within
from drover import wait_until

QUEUE, BUCKET, REPOSITORY, CLUSTER, FAMILY, SERVICE = "pictures", "walkthrough-pictures", "classifier", "gpu", "classify", "classify"
TASK_ROLE, MACHINE_ROLE, GROUP, TEMPLATE, ALARM = "taskRole", "ecsInstanceRole", "gpu-machines", "gpu-template", "pictures-waiting"
TASK_POLICIES = ("AmazonEC2ContainerRegistryReadOnly", "AmazonS3ReadOnlyAccess", "CloudWatchLogsFullAccess", "AmazonSQSFullAccess")
USER_DATA = "echo ECS_CLUSTER=gpu >> /etc/ecs/ecs.config;echo ECS_BACKEND_HOST= >> /etc/ecs/ecs.config;"
# What the daemon runs. A message that is no notification of a picture, such as the test event, kills it.
WORKER = '''
import boto3, hashlib, json, os
queue = boto3.resource("sqs").get_queue_by_name(QueueName="pictures")
bucket = boto3.resource("s3").Bucket("walkthrough-pictures")
while True:
    for message in queue.receive_messages(VisibilityTimeout=8000, MaxNumberOfMessages=10):
        key = json.loads(message.body)["Records"][0]["s3"]["object"]["key"]
        bucket.download_file(key, "/tmp/picture")
        print(key, "cat" if hashlib.md5(open("/tmp/picture", "rb").read()).digest()[0] % 2 else "dog", flush=True)
        message.delete()
'''
MASTER_POLICY = "arn:aws:iam::aws:policy/"


def trust(service):
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}]})


def queue_url(aws):
    return part(aws("sqs", "get-queue-url", "--queue-name", QUEUE), "QueueUrl")


def attribute(aws, name):
    return part(aws("sqs", "get-queue-attributes", "--queue-url", queue_url(aws), "--attribute-names", name), "Attributes", name)


def machines(aws):
    groups = part(aws("autoscaling", "describe-auto-scaling-groups", "--auto-scaling-group-names", GROUP), "AutoScalingGroups")
    return groups[0].get("Instances", [])


def printed(aws):
    events = part(aws("logs", "filter-log-events", "--log-group-name", f"/ecs/{FAMILY}"), "events")
    return [event["message"] for event in events]


def test_01_create_an_sqs_queue_with_default_settings(aws):
    assert QUEUE in part(aws("sqs", "create-queue", "--queue-name", QUEUE), "QueueUrl")
    assert attribute(aws, "VisibilityTimeout") == "30"


def test_02_everyone_may_send_if_the_source_is_the_bucket(aws):
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "SQS:SendMessage", "Resource": "*",
                                                      "Condition": {"ArnLike": {"aws:SourceArn": f"arn:aws:s3:*:*:{BUCKET}"}}}]}
    url = queue_url(aws)
    aws("sqs", "set-queue-attributes", "--queue-url", url, "--attributes", aws.input_file("policy.json", {"Policy": json.dumps(policy)}))
    assert json.loads(attribute(aws, "Policy")) == policy


def test_03_a_bucket_notifies_the_queue_and_the_test_event_arrives(aws):
    aws("s3", "mb", f"s3://{BUCKET}")
    configuration = {"QueueConfigurations": [{"QueueArn": attribute(aws, "QueueArn"), "Events": ["s3:ObjectCreated:Put"]}]}
    aws("s3api", "put-bucket-notification-configuration", "--bucket", BUCKET, "--notification-configuration",
        aws.input_file("notification.json", configuration))
    message, = part(aws("sqs", "receive-message", "--queue-url", queue_url(aws), "--wait-time-seconds", 10, "--visibility-timeout", 0), "Messages")
    assert json.loads(message["Body"])["Event"] == "s3:TestEvent"


def test_04_docker_runs_nvidia_smi(docker):
    assert "GPU 4:" in docker("run", *PRIVILEGED, "--runtime=nvidia", "--rm", "--network", "none", "drover.test/base:1", "nvidia-smi")


@missing("ECR: the server is no registry of images")
def test_05_build_an_image_and_push_it_to_ecr(aws, docker):
    uri = part(aws("ecr", "create-repository", "--repository-name", REPOSITORY), "repository", "repositoryUri")
    host = uri.partition("/")[0]
    password = aws("ecr", "get-login-password", text=True)
    docker("login", "--username", "AWS", "--password-stdin", host, input=password)
    docker.build(REPOSITORY, {"Dockerfile": "FROM drover.test/base:1\nCOPY worker.py /worker.py\n", "worker.py": WORKER})
    docker("tag", REPOSITORY, uri)
    docker("push", uri)
    assert part(aws("ecr", "describe-images", "--repository-name", REPOSITORY), "imageDetails")[0]["imageTags"] == ["latest"]


def test_06_a_role_for_tasks_with_managed_policies(aws):
    aws("iam", "create-role", "--role-name", TASK_ROLE, "--assume-role-policy-document", trust("ecs-tasks.amazonaws.com"))
    for policy in TASK_POLICIES:
        aws("iam", "attach-role-policy", "--role-name", TASK_ROLE, "--policy-arn", MASTER_POLICY + policy)
    attached = part(aws("iam", "list-attached-role-policies", "--role-name", TASK_ROLE), "AttachedPolicies")
    assert {policy["PolicyName"] for policy in attached} == set(TASK_POLICIES)


@missing("ECS: there are no task definitions")
def test_07_a_task_definition_with_that_role(aws):
    role = part(aws("iam", "get-role", "--role-name", TASK_ROLE), "Role", "Arn")
    image = part(aws("ecr", "describe-repositories", "--repository-names", REPOSITORY), "repositories", 0, "repositoryUri")
    container = {"name": FAMILY, "image": image, "memory": 48000, "cpu": 4096, "essential": True, "entryPoint": ["python3", "worker.py"],
                 "logConfiguration": {"logDriver": "awslogs", "options": {"awslogs-group": f"/ecs/{FAMILY}"}}}
    made = part(aws("ecs", "register-task-definition", "--family", FAMILY, "--task-role-arn", role, "--container-definitions",
                    aws.input_file("containers.json", [container])), "taskDefinition")
    assert (made["revision"], made["containerDefinitions"][0]["memory"]) == (1, 48000)


@missing("ECS: there are no clusters")
def test_08_an_empty_cluster(aws):
    cluster = part(aws("ecs", "create-cluster", "--cluster-name", CLUSTER), "cluster")
    assert (cluster["clusterName"], cluster["registeredContainerInstancesCount"]) == (CLUSTER, 0)


@missing("ECS: there are no services")
def test_09_a_daemon_service(aws):
    service = part(aws("ecs", "create-service", "--cluster", CLUSTER, "--service-name", SERVICE, "--task-definition", FAMILY, "--launch-type", "EC2",
                       "--scheduling-strategy", "DAEMON"), "service")
    assert (service["schedulingStrategy"], service["runningCount"]) == ("DAEMON", 0)


def test_10_a_role_for_machines_and_its_instance_profile(aws):
    aws("iam", "create-role", "--role-name", MACHINE_ROLE, "--assume-role-policy-document", trust("ec2.amazonaws.com"))
    aws("iam", "attach-role-policy", "--role-name", MACHINE_ROLE, "--policy-arn", MASTER_POLICY + "service-role/AmazonEC2ContainerServiceforEC2Role")
    part(aws("iam", "create-instance-profile", "--instance-profile-name", MACHINE_ROLE), "InstanceProfile", "Arn")
    aws("iam", "add-role-to-instance-profile", "--instance-profile-name", MACHINE_ROLE, "--role-name", MACHINE_ROLE)
    profile = part(aws("iam", "get-instance-profile", "--instance-profile-name", MACHINE_ROLE), "InstanceProfile")
    assert [role["RoleName"] for role in profile["Roles"]] == [MACHINE_ROLE]


def test_11_a_launch_template(aws):
    data = {"ImageId": "ami-0123456789abcdef0", "InstanceType": "p2.xlarge", "IamInstanceProfile": {"Name": MACHINE_ROLE},
            "UserData": base64.b64encode(USER_DATA.encode()).decode()}
    made = part(aws("ec2", "create-launch-template", "--launch-template-name", TEMPLATE, "--launch-template-data",
                    aws.input_file("template.json", data)), "LaunchTemplate")
    assert (made["LaunchTemplateName"], made["LatestVersionNumber"]) == (TEMPLATE, 1)


@missing("CloudWatch: there are no alarms")
def test_12_an_alarm_on_the_messages_that_wait(aws):
    aws("cloudwatch", "put-metric-alarm", "--alarm-name", ALARM, "--namespace", "AWS/SQS", "--metric-name", "ApproximateNumberOfMessagesVisible",
        "--dimensions", f"Name=QueueName,Value={QUEUE}", "--statistic", "Maximum", "--period", 60, "--evaluation-periods", 1,
        "--comparison-operator", "LessThanOrEqualToThreshold", "--threshold", 0)
    alarm, = part(aws("cloudwatch", "describe-alarms", "--alarm-names", ALARM), "MetricAlarms")
    assert alarm["StateValue"] in ("OK", "ALARM", "INSUFFICIENT_DATA")


@missing("Auto Scaling: there are no groups and no step policies")
def test_13_a_group_with_a_step_policy(aws):
    aws("autoscaling", "create-auto-scaling-group", "--auto-scaling-group-name", GROUP, "--launch-template", f"LaunchTemplateName={TEMPLATE}",
        "--min-size", 0, "--max-size", 2, "--availability-zones", "us-east-1a")
    # The alarm's threshold is 0: a step begins so far above it.
    steps = ["MetricIntervalUpperBound=1,ScalingAdjustment=0", "MetricIntervalLowerBound=1,MetricIntervalUpperBound=101,ScalingAdjustment=1",
             "MetricIntervalLowerBound=101,ScalingAdjustment=2"]
    policy = part(aws("autoscaling", "put-scaling-policy", "--auto-scaling-group-name", GROUP, "--policy-name", "by-messages", "--policy-type", "StepScaling",
                      "--adjustment-type", "ExactCapacity", "--step-adjustments", *steps), "PolicyARN")
    aws("cloudwatch", "put-metric-alarm", "--alarm-name", ALARM, "--namespace", "AWS/SQS", "--metric-name", "ApproximateNumberOfMessagesVisible",
        "--dimensions", f"Name=QueueName,Value={QUEUE}", "--statistic", "Maximum", "--period", 60, "--evaluation-periods", 1,
        "--comparison-operator", "LessThanOrEqualToThreshold", "--threshold", 0, "--ok-actions", policy, "--alarm-actions", policy)
    assert machines(aws) == []


def upload(aws, world, first, count):
    folder = world.folder / f"pictures-{first}"
    folder.mkdir(exist_ok=True)
    for number in range(first, first + count):
        (folder / f"{number:04}.png").write_bytes(b"\x89PNG\r\n" + number.to_bytes(4, "big") * 100)
    aws("s3", "sync", folder, f"s3://{BUCKET}/")


@missing("daemon services: no machine starts for messages, and nothing runs on it")
def test_14_pictures_become_messages_and_a_machine_classifies_them(aws, world):
    (world.folder / "one.png").write_bytes(b"\x89PNG\r\n")
    aws("s3", "cp", world.folder / "one.png", f"s3://{BUCKET}/one.png")
    upload(aws, world, 0, 20)
    within(lambda: len(machines(aws)) == 1, "one machine", 60)
    wait_until(lambda: sum(".png " in line for line in printed(aws)) == 21, "every picture to be classified")


@missing("step policies: a longer queue does not start a second machine")
def test_15_150_pictures_start_two_machines(aws, world):
    upload(aws, world, 100, 150)
    within(lambda: len(machines(aws)) == 2, "two machines", 60)


@missing("scale-in: no machine is drained, and receipts are not released when a task ends")
def test_16_an_empty_queue_leaves_no_machine_and_no_picture_is_lost(aws):
    assert len(machines(aws)) == 2
    within(lambda: attribute(aws, "ApproximateNumberOfMessages") == "0", "the queue to be empty", 120)
    within(lambda: machines(aws) == [], "the machines to be gone", 120)
    assert attribute(aws, "ApproximateNumberOfMessagesNotVisible") == "0"
    names = {line.split()[0] for line in printed(aws) if ".png " in line}
    assert names == {"one.png", *(f"{number:04}.png" for number in [*range(20), *range(100, 250)])}


@missing("CloudWatch Logs: the API is not there")
def test_17_what_it_printed_is_in_the_logs(aws):
    streams = part(aws("logs", "describe-log-streams", "--log-group-name", f"/ecs/{FAMILY}"), "logStreams")
    assert streams and any("Records" in line for line in printed(aws)), "the test event killed a worker, which said why"
