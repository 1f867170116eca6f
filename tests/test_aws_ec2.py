"""EC2 on the wire: the network that AWS Batch's set-up names, and what is kept and described back."""

import base64
import concurrent.futures
import hashlib
import subprocess

import botocore.exceptions
import pytest

from aws import Aws, code_of
from test_server import Server

KEY = b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGzy2Bh/W+0PHzoXMOjQoNkCPqumbTQFeeYKgTsq5shx"
PRODUCTION = {"Key": "stage", "Value": "production"}


@pytest.fixture
def server(drover):
    return Server(drover)


@pytest.fixture
def aws(server):
    return Aws(server)


@pytest.fixture
def ec2(aws):
    return aws.client("ec2")


def tagged(kind, *tags):
    return [{"ResourceType": kind, "Tags": list(tags)}]


def having(name, *values):
    return [{"Name": name, "Values": list(values)}]


def test_a_default_network_is_there(server, ec2):
    vpc, = ec2.describe_vpcs(Filters=having("isDefault", "true"))["Vpcs"]
    subnets = ec2.describe_subnets(Filters=having("vpc-id", vpc["VpcId"]))["Subnets"]
    assert [it["AvailabilityZone"] for it in subnets] == ["us-east-1a", "us-east-1b", "us-east-1c"]
    one, = ec2.describe_subnets(SubnetIds=[subnets[1]["SubnetId"]])["Subnets"]
    assert one == subnets[1]
    group, = Aws(server)("ec2", "describe-security-groups", "--group-names", "default")["SecurityGroups"]
    assert group["VpcId"] == vpc["VpcId"]
    assert [it["ZoneName"] for it in ec2.describe_availability_zones()["AvailabilityZones"]] == [it["AvailabilityZone"] for it in subnets]
    assert ec2.describe_subnets(Filters=having("vpc-id", "vpc-other"))["Subnets"] == []


def test_an_image_is_kept_by_its_name(server, ec2):
    made = ec2.create_image(InstanceId="i-0123456789abcdef0", Name="batch-gpu", Description="with <drivers>", TagSpecifications=tagged("image", PRODUCTION))["ImageId"]
    server.kill()
    server.start()
    shown, = ec2.describe_images(Owners=["self"])["Images"]
    assert (shown["ImageId"], shown["Name"], shown["Description"], shown["State"]) == (made, "batch-gpu", "with <drivers>", "available")
    assert shown["Tags"] == [PRODUCTION]
    assert code_of(ec2.create_image, InstanceId="i-0123456789abcdef0", Name="batch-gpu")[0] == "InvalidAMIName.Duplicate"
    assert ec2.describe_images(Filters=having("name", "other"))["Images"] == []
    assert ec2.describe_images(Owners=["amazon"])["Images"] == []


def test_what_does_not_exist_and_what_is_invalid(ec2):
    assert code_of(ec2.describe_subnets, SubnetIds=["subnet-none"])[0] == "InvalidSubnetID.NotFound"
    code, message = code_of(ec2.describe_vpcs, Filters=having("colour", "red"))
    assert code == "InvalidParameterValue" and "colour" in message
    assert code_of(ec2.describe_vpcs, Filters=[{"Name": "vpc-id"}])[0] == "InvalidParameterValue"
    assert code_of(ec2.describe_vpcs, NextToken="other")[0] == "InvalidNextToken"
    assert code_of(ec2.describe_instances)[0] == "InvalidAction"
    code, message = code_of(ec2.create_key_pair, KeyName="key", KeyFormat="ppk")
    assert code == "InvalidParameterValue" and "KeyFormat" in message


def test_a_dry_run_changes_nothing_and_needs_permission(server, ec2):
    for call, arguments in [(ec2.describe_vpcs, {}), (ec2.create_security_group, {"GroupName": "web", "Description": "web"}),
                            (ec2.create_key_pair, {"KeyName": "key"}), (ec2.delete_tags, {"Resources": ["sg-none"]})]:
        code, message = code_of(call, DryRun=True, **arguments)
        assert code == "DryRunOperation" and "DryRun" in message
    with pytest.raises(botocore.exceptions.ClientError) as refused:
        ec2.describe_key_pairs(DryRun=True)
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 412
    assert len(ec2.describe_security_groups()["SecurityGroups"]) == 1 and ec2.describe_key_pairs()["KeyPairs"] == []
    key = server.cli("key", "create", "--scope", "read", "--json").json_lines[0]["token"]
    reader = Aws(server, key).client("ec2")
    assert reader.describe_vpcs()["Vpcs"]
    assert code_of(reader.create_key_pair, KeyName="key", DryRun=True)[0] == "UnauthorizedOperation"


def test_a_security_group_is_kept_with_its_rules(server, aws, ec2):
    web = aws("ec2", "create-security-group", "--group-name", "web", "--description", "web servers", "--tag-specifications",
              "ResourceType=security-group,Tags=[{Key=stage,Value=production}]")
    assert web["Tags"] == [PRODUCTION]
    inner = ec2.create_security_group(GroupName="inner", Description="behind web")["GroupId"]
    aws("ec2", "authorize-security-group-ingress", "--group-id", web["GroupId"], "--protocol", "tcp", "--port", "80", "--cidr", "10.1.2.3/8")
    made = ec2.authorize_security_group_ingress(GroupName="inner", IpPermissions=[
        {"IpProtocol": "6", "FromPort": 22, "ToPort": 23, "IpRanges": [{"CidrIp": "10.0.0.0/8", "Description": "office"}, {"CidrIp": "192.168.0.1/32"}],
         "Ipv6Ranges": [{"CidrIpv6": "2001:db8::1/32"}]},
        {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": web["GroupId"]}]},
        {"IpProtocol": "icmp", "FromPort": -1, "ToPort": -1, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}])
    assert made["Return"] and [it.get("CidrIpv4") for it in made["SecurityGroupRules"]] == ["10.0.0.0/8", "192.168.0.1/32", None, None, "0.0.0.0/0"]
    server.kill()
    server.start()
    shown, = ec2.describe_security_groups(GroupIds=[inner])["SecurityGroups"]
    assert (shown["GroupName"], shown["Description"]) == ("inner", "behind web")
    assert shown["IpPermissions"] == [
        {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 23, "IpRanges": [{"CidrIp": "10.0.0.0/8", "Description": "office"}, {"CidrIp": "192.168.0.1/32"}],
         "Ipv6Ranges": [{"CidrIpv6": "2001:db8::/32"}], "PrefixListIds": [], "UserIdGroupPairs": []},
        {"IpProtocol": "-1", "IpRanges": [], "Ipv6Ranges": [], "PrefixListIds": [],
         "UserIdGroupPairs": [{"GroupId": web["GroupId"], "UserId": shown["OwnerId"]}]},
        {"IpProtocol": "icmp", "FromPort": -1, "ToPort": -1, "IpRanges": [{"CidrIp": "0.0.0.0/0"}], "Ipv6Ranges": [], "PrefixListIds": [], "UserIdGroupPairs": []}]
    assert [it["IpProtocol"] for it in shown["IpPermissionsEgress"]] == ["-1"]

    def names(**arguments):
        return sorted(it["GroupName"] for it in ec2.describe_security_groups(**arguments)["SecurityGroups"])
    assert names() == ["default", "inner", "web"]
    assert names(Filters=having("ip-permission.cidr", "10.*")) == ["inner", "web"]
    assert names(Filters=having("ip-permission.from-port", "80")) == ["web"]
    assert names(Filters=having("group-name", "w?b", "none")) == ["web"]
    assert names(Filters=having("tag:stage", "prod*")) == ["web"]


def test_rules_are_revoked_and_groups_deleted(ec2):
    group = ec2.create_security_group(GroupName="web", Description="web")["GroupId"]
    other = ec2.create_security_group(GroupName="other", Description="other")["GroupId"]
    ssh = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "CidrIp": "10.0.0.0/8"}
    ec2.authorize_security_group_ingress(GroupId=group, **ssh)
    from_other, = ec2.authorize_security_group_ingress(GroupId=group, SourceSecurityGroupName="other")["SecurityGroupRules"]
    code, message = code_of(ec2.authorize_security_group_ingress, GroupId=group, **ssh)
    assert code == "InvalidPermission.Duplicate" and "peer: 10.0.0.0/8, TCP, from port: 22, to port: 22" in message
    assert code_of(ec2.delete_security_group, GroupId=other)[0] == "DependencyViolation"
    ec2.revoke_security_group_ingress(GroupId=group, SecurityGroupRuleIds=[from_other["SecurityGroupRuleId"]])
    ec2.revoke_security_group_ingress(GroupId=group, **ssh)
    assert ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"][0]["IpPermissions"] == []
    assert code_of(ec2.revoke_security_group_ingress, GroupId=group, **ssh)[0] == "InvalidPermission.NotFound"
    ec2.delete_security_group(GroupId=other)
    ec2.delete_security_group(GroupName="web")
    default, = ec2.describe_security_groups()["SecurityGroups"]
    assert code_of(ec2.delete_security_group, GroupId=default["GroupId"])[0] == "CannotDelete"
    ec2.revoke_security_group_ingress(GroupId=default["GroupId"], IpPermissions=default["IpPermissions"])
    assert ec2.describe_security_groups()["SecurityGroups"][0]["IpPermissions"] == []


def test_a_group_or_rule_that_is_invalid_is_refused(ec2):
    group = ec2.create_security_group(GroupName="web", Description="web")["GroupId"]
    assert code_of(ec2.create_security_group, GroupName="web", Description="again")[0] == "InvalidGroup.Duplicate"
    assert code_of(ec2.create_security_group, GroupName="more", Description="more", VpcId="vpc-none")[0] == "InvalidVpcID.NotFound"
    for arguments in {"GroupName": "sg-web", "Description": "web"}, {"GroupName": "gr\u00fcn", "Description": "web"}, {"GroupName": "more", "Description": "\u00fc"}:
        assert code_of(ec2.create_security_group, **arguments)[0] == "InvalidParameterValue"
    assert code_of(ec2.describe_security_groups, GroupNames=["none"])[0] == "InvalidGroup.NotFound"
    assert code_of(ec2.delete_security_group, GroupId="sg-none")[0] == "InvalidGroup.NotFound"
    assert code_of(ec2.delete_security_group)[0] == "MissingParameter"
    tcp = {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 2}
    for wrong, code in [({**tcp, "CidrIp": "10.0.0.0/33"}, "InvalidParameterValue"), ({**tcp, "CidrIp": "10.0.0/8"}, "InvalidParameterValue"),
                        ({**tcp, "ToPort": 0, "CidrIp": "10.0.0.0/8"}, "InvalidParameterValue"), ({"IpProtocol": "tcp", "CidrIp": "10.0.0.0/8"}, "MissingParameter"),
                        ({**tcp, "IpProtocol": "tpc", "CidrIp": "10.0.0.0/8"}, "InvalidParameterValue"), (tcp, "MissingParameter"), ({}, "MissingParameter"),
                        ({"SourceSecurityGroupName": "none"}, "InvalidGroup.NotFound"),
                        ({"IpPermissions": [{**tcp, "IpRanges": [{"CidrIp": "10.0.0.0/8"}, {"CidrIp": "10.9.9.9/8"}]}]}, "InvalidParameterValue"),
                        ({"IpPermissions": [{**tcp, "IpRanges": [{"CidrIp": f"10.0.0.{n}/32"} for n in range(61)]}]}, "RulesPerSecurityGroupLimitExceeded")]:
        assert code_of(ec2.authorize_security_group_ingress, GroupId=group, **wrong)[0] == code, wrong
    assert ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"][0]["IpPermissions"] == []


@pytest.mark.parametrize("kind", ["rsa", "ed25519"])
def test_a_key_pair_is_made_and_only_its_public_half_is_kept(server, aws, ec2, tmp_path, kind):
    made = aws("ec2", "create-key-pair", "--key-name", "login", "--key-type", kind, "--tag-specifications", "ResourceType=key-pair,Tags=[{Key=stage,Value=production}]")
    private = tmp_path / "login.pem"
    private.write_text(made["KeyMaterial"])
    private.chmod(0o600)
    public = subprocess.run(["ssh-keygen", "-y", "-P", "", "-f", private], capture_output=True, text=True, check=True, timeout=60).stdout.split()[:2]
    if kind == "rsa":
        der = subprocess.run(["openssl", "pkcs8", "-in", private, "-topk8", "-nocrypt", "-outform", "DER"], capture_output=True, check=True, timeout=60).stdout
        assert made["KeyFingerprint"].replace(":", "") == hashlib.sha1(der).hexdigest()
    else:
        assert made["KeyFingerprint"] == base64.b64encode(hashlib.sha256(base64.b64decode(public[1])).digest()).decode()
    server.kill()
    server.start()
    shown, = ec2.describe_key_pairs(KeyNames=["login"], IncludePublicKey=True)["KeyPairs"]
    assert shown["PublicKey"].split() == [*public, "login"]
    assert {it: shown[it] for it in ("KeyPairId", "KeyFingerprint", "KeyType", "Tags")} == {
        "KeyPairId": made["KeyPairId"], "KeyFingerprint": made["KeyFingerprint"], "KeyType": kind, "Tags": [PRODUCTION]}
    assert "PublicKey" not in ec2.describe_key_pairs()["KeyPairs"][0]
    assert not any("PRIVATE" in text for text, in server.rows("SELECT text FROM documents"))


def test_key_pairs_are_imported_and_deleted(ec2, tmp_path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "mine"], check=True, timeout=60)
    line = (tmp_path / "mine.pub").read_bytes()
    made = ec2.import_key_pair(KeyName="mine", PublicKeyMaterial=line)
    shown, = ec2.describe_key_pairs(KeyPairIds=[made["KeyPairId"]], IncludePublicKey=True)["KeyPairs"]
    assert shown["PublicKey"].split()[:2] == line.decode().split()[:2] and shown["KeyFingerprint"] == made["KeyFingerprint"]
    assert code_of(ec2.import_key_pair, KeyName="other", PublicKeyMaterial=b"ssh-rsa none")[0] == "InvalidKey.Format"
    assert code_of(ec2.import_key_pair, KeyName="mine", PublicKeyMaterial=line)[0] == "InvalidKeyPair.Duplicate"
    assert code_of(ec2.create_key_pair, KeyName="mine")[0] == "InvalidKeyPair.Duplicate"
    assert code_of(ec2.describe_key_pairs, KeyNames=["none"])[0] == "InvalidKeyPair.NotFound"
    ec2.delete_key_pair(KeyName="none")
    ec2.delete_key_pair(KeyPairId=made["KeyPairId"])
    assert ec2.describe_key_pairs()["KeyPairs"] == []
    assert code_of(ec2.delete_key_pair)[0] == "MissingParameter"


DATA = {
    "ImageId": "ami-1", "InstanceType": "p3.2xlarge", "KeyName": "login", "UserData": base64.b64encode(b"#!/bin/sh").decode(), "EbsOptimized": True,
    "SecurityGroupIds": ["sg-1", "sg-2"], "SecurityGroups": ["web"], "IamInstanceProfile": {"Name": "machines"}, "Monitoring": {"Enabled": True},
    "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 100, "VolumeType": "gp3", "DeleteOnTermination": True, "Throughput": 250}}],
    "TagSpecifications": [{"ResourceType": "instance", "Tags": [PRODUCTION]}], "Placement": {"AvailabilityZone": "us-east-1a", "Tenancy": "default"},
    "InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": {"MaxPrice": "0.5", "SpotInstanceType": "one-time"}},
    "NetworkInterfaces": [{"DeviceIndex": 0, "AssociatePublicIpAddress": False, "Groups": ["sg-1"], "SubnetId": "subnet-1"}],
    "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 2}, "CpuOptions": {"CoreCount": 4, "ThreadsPerCore": 1},
    "CreditSpecification": {"CpuCredits": "standard"}, "InstanceInitiatedShutdownBehavior": "terminate", "DisableApiTermination": False}


def test_a_launch_template_is_kept_with_its_versions(server, aws, ec2):
    made = ec2.create_launch_template(LaunchTemplateName="gpu", LaunchTemplateData=DATA, VersionDescription="first",
                                      TagSpecifications=tagged("launch-template", PRODUCTION))["LaunchTemplate"]
    assert (made["DefaultVersionNumber"], made["LatestVersionNumber"], made["Tags"]) == (1, 1, [PRODUCTION])
    second = aws("ec2", "create-launch-template-version", "--launch-template-name", "gpu", "--source-version", "1", "--launch-template-data",
                 '{"InstanceType": "p4d.24xlarge", "SecurityGroups": ["other"]}')["LaunchTemplateVersion"]
    assert second["LaunchTemplateData"] == {**DATA, "InstanceType": "p4d.24xlarge", "SecurityGroups": ["other"]}
    third = ec2.create_launch_template_version(LaunchTemplateId=made["LaunchTemplateId"], LaunchTemplateData={"ImageId": "ami-3"})["LaunchTemplateVersion"]
    assert (third["VersionNumber"], third["LaunchTemplateData"]) == (3, {"ImageId": "ami-3"})
    changed = aws("ec2", "modify-launch-template", "--launch-template-name", "gpu", "--default-version", "2")["LaunchTemplate"]
    assert (changed["DefaultVersionNumber"], changed["LatestVersionNumber"]) == (2, 3)
    server.kill()
    server.start()
    shown, = ec2.describe_launch_templates(LaunchTemplateNames=["gpu"])["LaunchTemplates"]
    assert shown == {**made, "DefaultVersionNumber": 2, "LatestVersionNumber": 3}

    def versions(**arguments):
        return [it["VersionNumber"] for it in ec2.describe_launch_template_versions(**arguments)["LaunchTemplateVersions"]]
    first = ec2.describe_launch_template_versions(LaunchTemplateName="gpu", Versions=["1"])["LaunchTemplateVersions"][0]
    assert first["LaunchTemplateData"] == DATA
    assert (first["VersionDescription"], first["DefaultVersion"], first["LaunchTemplateId"]) == ("first", False, made["LaunchTemplateId"])
    assert versions(LaunchTemplateName="gpu") == [3, 2, 1]
    assert versions(LaunchTemplateName="gpu", Versions=["$Latest", "$Default", "2"]) == [3, 2]
    assert versions(LaunchTemplateName="gpu", MinVersion="2") == [3, 2] and versions(LaunchTemplateName="gpu", MaxVersion="2") == [2, 1]
    assert versions(LaunchTemplateName="gpu", Filters=having("instance-type", "p4d.*")) == [2]
    assert versions(LaunchTemplateName="gpu", Filters=having("is-default-version", "true")) == [2]
    ec2.create_launch_template(LaunchTemplateName="cpu", LaunchTemplateData={"InstanceType": "c5.large"})
    assert versions(Versions=["$Default"]) == [1, 2]
    pages = ec2.get_paginator("describe_launch_template_versions").paginate(LaunchTemplateName="gpu", PaginationConfig={"PageSize": 2})
    assert [[it["VersionNumber"] for it in page["LaunchTemplateVersions"]] for page in pages] == [[3, 2], [1]]
    assert aws("ec2", "delete-launch-template", "--launch-template-name", "gpu")["LaunchTemplate"]["LaunchTemplateId"] == made["LaunchTemplateId"]
    assert [it["LaunchTemplateName"] for it in ec2.describe_launch_templates()["LaunchTemplates"]] == ["cpu"]
    assert server.rows("SELECT count(*) FROM documents WHERE kind = 'ec2.launch-template-version'") == [(1,)]


def test_a_launch_template_that_does_not_exist_or_is_invalid_is_refused(ec2):
    made = ec2.create_launch_template(LaunchTemplateName="gpu", LaunchTemplateData={"ImageId": "ami-1"})["LaunchTemplate"]
    new = {"LaunchTemplateData": {"ImageId": "ami-1"}}
    assert code_of(ec2.create_launch_template, LaunchTemplateName="gpu", **new)[0] == "InvalidLaunchTemplateName.AlreadyExistsException"
    assert code_of(ec2.create_launch_template, LaunchTemplateName="g p u", **new)[0] == "InvalidLaunchTemplateName.MalformedException"
    assert code_of(ec2.describe_launch_templates, LaunchTemplateIds=["lt-none"])[0] == "InvalidLaunchTemplateId.NotFound"
    assert code_of(ec2.describe_launch_templates, LaunchTemplateNames=["none"])[0] == "InvalidLaunchTemplateName.NotFoundException"
    assert code_of(ec2.delete_launch_template, LaunchTemplateName="none")[0] == "InvalidLaunchTemplateName.NotFoundException"
    assert code_of(ec2.describe_launch_template_versions, LaunchTemplateId=made["LaunchTemplateId"], Versions=["2"])[0] == "InvalidLaunchTemplateId.VersionNotFound"
    assert code_of(ec2.modify_launch_template, LaunchTemplateName="gpu", DefaultVersion="2")[0] == "InvalidLaunchTemplateId.VersionNotFound"
    assert code_of(ec2.create_launch_template_version, LaunchTemplateName="gpu", SourceVersion="0", **new)[0] == "InvalidLaunchTemplateId.VersionNotFound"
    assert code_of(ec2.describe_launch_template_versions, LaunchTemplateName="gpu", Versions=["one"])[0] == "InvalidParameterValue"
    assert code_of(ec2.describe_launch_template_versions, LaunchTemplateName="gpu", Versions=["1"], MinVersion="1")[0] == "InvalidParameterCombination"
    assert code_of(ec2.describe_launch_template_versions, Versions=["1"])[0] == "MissingParameter"
    assert code_of(ec2.describe_launch_template_versions, LaunchTemplateName="gpu", LaunchTemplateId="lt-1")[0] == "InvalidParameterCombination"


def test_a_client_token_makes_a_launch_template_and_a_version_once(ec2):
    new = {"LaunchTemplateName": "gpu", "LaunchTemplateData": {"ImageId": "ami-1"}, "ClientToken": "one"}
    assert ec2.create_launch_template(**new)["LaunchTemplate"] == ec2.create_launch_template(**new)["LaunchTemplate"]
    versions = [ec2.create_launch_template_version(**new)["LaunchTemplateVersion"]["VersionNumber"] for _ in range(2)]
    assert versions == [2, 2]
    assert ec2.create_launch_template_version(**{**new, "ClientToken": "two"})["LaunchTemplateVersion"]["VersionNumber"] == 3


def test_instance_types_are_described(aws, ec2):
    one, = aws("ec2", "describe-instance-types", "--instance-types", "p4d.24xlarge")["InstanceTypes"]
    assert (one["VCpuInfo"]["DefaultVCpus"], one["MemoryInfo"]["SizeInMiB"], one["SupportedUsageClasses"]) == (96, 1152 * 1024, ["on-demand", "spot"])
    assert one["GpuInfo"] == {"Gpus": [{"Name": "A100", "Manufacturer": "NVIDIA", "Count": 8, "MemoryInfo": {"SizeInMiB": 40960}}], "TotalGpuMemoryInMiB": 327680}
    neuron, = ec2.describe_instance_types(InstanceTypes=["inf1.24xlarge"])["InstanceTypes"]
    assert neuron["InferenceAcceleratorInfo"]["Accelerators"] == [{"Count": 16, "Name": "Inferentia", "Manufacturer": "AWS"}]

    def names(*filters):
        return [it["InstanceType"] for it in ec2.describe_instance_types(Filters=list(filters))["InstanceTypes"]]
    assert names(*having("instance-type", "p3*.*", "p2.?xlarge")) == ["p2.8xlarge", "p3.2xlarge", "p3.8xlarge", "p3.16xlarge", "p3dn.24xlarge"]
    assert set(it.split(".")[0] for it in names(*having("processor-info.supported-architecture", "arm64"))) == {"c6g", "c7g", "m6g", "m7g"}
    assert names(*having("instance-type", "c*"), *having("vcpu-info.default-vcpus", "36")) == ["c5.9xlarge"]
    assert code_of(ec2.describe_instance_types, InstanceTypes=["p3.9xlarge"])[0] == "InvalidInstanceType"
    assert code_of(ec2.describe_instance_types, Filters=having("tag:stage", "production"))[0] == "InvalidParameterValue"
    pages = [[it["InstanceType"] for it in page["InstanceTypes"]] for page in ec2.get_paginator("describe_instance_types").paginate()]
    everything = sum(pages, [])
    assert len(pages[0]) == 100 and len(set(everything)) == len(everything) > 100
    families = "t3 c5 c5a c6i c6g c7g c7i m5 m6i m6g m7g m7i r5 r6i p2 p3 p3dn p4d p5 g4dn g5 g6 inf1 inf2 trn1"
    assert {it.split(".")[0] for it in everything} == set(families.split())


def test_whatever_exists_can_be_tagged(server, aws, ec2):
    kinds = {"image": ec2.create_image(InstanceId="i-1", Name="image")["ImageId"], "key-pair": ec2.create_key_pair(KeyName="key", KeyType="ed25519")["KeyPairId"],
             "launch-template": ec2.create_launch_template(LaunchTemplateName="gpu", LaunchTemplateData={"ImageId": "ami-1"})["LaunchTemplate"]["LaunchTemplateId"],
             "security-group": ec2.describe_security_groups()["SecurityGroups"][0]["GroupId"],
             "subnet": ec2.describe_subnets()["Subnets"][0]["SubnetId"], "vpc": ec2.describe_vpcs()["Vpcs"][0]["VpcId"]}
    aws("ec2", "create-tags", "--resources", *kinds.values(), "--tags", "Key=stage,Value=test", "Key=owner,Value=me")
    ec2.create_tags(Resources=[*kinds.values()], Tags=[PRODUCTION])
    server.kill()
    server.start()
    owner = {"Key": "owner", "Value": "me"}
    described = [(ec2.describe_images, "Images"), (ec2.describe_key_pairs, "KeyPairs"), (ec2.describe_launch_templates, "LaunchTemplates"),
                 (ec2.describe_security_groups, "SecurityGroups"), (ec2.describe_subnets, "Subnets"), (ec2.describe_vpcs, "Vpcs")]
    for call, member in described:
        for name, value in ("tag:stage", "prod*"), ("tag-key", "own?r"), ("tag-value", "me"):
            shown, = call(Filters=having(name, value))[member]
            assert shown["Tags"] == [owner, PRODUCTION]
        assert call(Filters=having("tag:stage", "test"))[member] == []
    assert sorted((it["ResourceType"], it["ResourceId"]) for it in aws("ec2", "describe-tags", "--filters", "Name=key,Values=owner")["Tags"]) == sorted(kinds.items())
    assert len(ec2.describe_tags()["Tags"]) == 12
    assert [it["Key"] for it in ec2.describe_tags(Filters=[*having("resource-id", kinds["vpc"]), *having("tag:stage", "production")])["Tags"]] == ["stage"]
    ec2.delete_tags(Resources=[*kinds.values()], Tags=[{"Key": "owner"}, {"Key": "stage", "Value": "test"}])
    assert {it["Key"] for it in ec2.describe_tags()["Tags"]} == {"stage"}
    aws("ec2", "delete-tags", "--resources", *kinds.values())
    assert ec2.describe_tags()["Tags"] == []
    for call, member in described:
        assert not any("Tags" in it for it in call()[member])


def test_tags_that_are_invalid_are_refused(ec2):
    for wanted, code in {"ami-none": "InvalidAMIID.NotFound", "key-none": "InvalidKeyPair.NotFound", "lt-none": "InvalidLaunchTemplateId.NotFound",
                         "sg-none": "InvalidGroup.NotFound", "vpc-none": "InvalidVpcID.NotFound", "none": "InvalidID"}.items():
        assert code_of(ec2.create_tags, Resources=[wanted], Tags=[PRODUCTION])[0] == code
    vpc = ec2.describe_vpcs()["Vpcs"][0]["VpcId"]
    assert code_of(ec2.create_tags, Resources=[vpc], Tags=[{"Key": "aws:x", "Value": ""}])[0] == "InvalidParameterValue"
    assert code_of(ec2.create_tags, Resources=[vpc], Tags=[{"Key": f"k{n}", "Value": ""} for n in range(51)])[0] == "TagLimitExceeded"
    new = {"GroupName": "web", "Description": "web"}
    assert code_of(ec2.create_security_group, TagSpecifications=tagged("image", PRODUCTION), **new)[0] == "InvalidParameterValue"
    assert code_of(ec2.create_security_group, TagSpecifications=tagged("security-group", PRODUCTION, PRODUCTION), **new)[0] == "InvalidParameterValue"
    assert ec2.describe_tags()["Tags"] == []


@pytest.mark.parametrize("made", ["group", "key", "template", "image"])
def test_of_requests_that_create_the_same_thing_at_once_one_succeeds(ec2, made):
    create = {"group": lambda: ec2.create_security_group(GroupName="same", Description="same"), "key": lambda: ec2.import_key_pair(KeyName="same", PublicKeyMaterial=KEY),
              "template": lambda: ec2.create_launch_template(LaunchTemplateName="same", LaunchTemplateData={"ImageId": "ami-1"}),
              "image": lambda: ec2.create_image(InstanceId="i-1", Name="same")}[made]

    def outcome(_):
        try:
            return bool(create())
        except botocore.exceptions.ClientError as error:
            return error.response["Error"]["Code"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(outcome, range(8)))
    assert outcomes.count(True) == 1 and len(set(outcomes)) == 2, outcomes


def test_long_lists_come_in_pages(ec2):
    for n in range(7):
        ec2.create_security_group(GroupName=f"group-{n}", Description="one of many")
    pages = [[it["GroupName"] for it in page["SecurityGroups"]] for page in
             ec2.get_paginator("describe_security_groups").paginate(PaginationConfig={"PageSize": 5})]
    assert [len(it) for it in pages] == [5, 3] and len(set(sum(pages, []))) == 8
