"""EC2 on the wire: the network that AWS Batch's set-up names, and images by name."""

import pytest

from aws import Aws, code_of
from test_server import Server


@pytest.fixture
def server(drover):
    return Server(drover)


@pytest.fixture
def ec2(server):
    return Aws(server).client("ec2")


def test_a_default_network_is_there(server, ec2):
    vpc, = ec2.describe_vpcs(Filters=[{"Name": "isDefault", "Values": ["true"]}])["Vpcs"]
    subnets = ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [vpc["VpcId"]]}])["Subnets"]
    assert [it["AvailabilityZone"] for it in subnets] == ["us-east-1a", "us-east-1b", "us-east-1c"]
    one, = ec2.describe_subnets(SubnetIds=[subnets[1]["SubnetId"]])["Subnets"]
    assert one == subnets[1]
    group, = Aws(server)("ec2", "describe-security-groups", "--group-names", "default")["SecurityGroups"]
    assert group["VpcId"] == vpc["VpcId"]
    assert [it["ZoneName"] for it in ec2.describe_availability_zones()["AvailabilityZones"]] == [it["AvailabilityZone"] for it in subnets]
    assert ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": ["vpc-other"]}])["Subnets"] == []


def test_an_image_is_kept_by_its_name(server, ec2):
    made = ec2.create_image(InstanceId="i-0123456789abcdef0", Name="batch-gpu", Description="with <drivers>")["ImageId"]
    server.kill()
    server.start()
    shown, = ec2.describe_images(Owners=["self"])["Images"]
    assert (shown["ImageId"], shown["Name"], shown["Description"], shown["State"]) == (made, "batch-gpu", "with <drivers>", "available")
    assert code_of(ec2.create_image, InstanceId="i-0123456789abcdef0", Name="batch-gpu")[0] == "InvalidAMIName.Duplicate"
    assert ec2.describe_images(Filters=[{"Name": "name", "Values": ["other"]}])["Images"] == []


def test_what_is_not_there_and_what_cannot_be_right(ec2):
    assert code_of(ec2.describe_subnets, SubnetIds=["subnet-none"])[0] == "InvalidSubnetID.NotFound"
    code, message = code_of(ec2.describe_vpcs, Filters=[{"Name": "colour", "Values": ["red"]}])
    assert code == "InvalidParameterValue" and "colour" in message
    assert code_of(ec2.describe_instances)[0] == "InvalidAction"
    code, message = code_of(ec2.describe_vpcs, DryRun=True)
    assert code == "InvalidParameterValue" and "DryRun" in message
