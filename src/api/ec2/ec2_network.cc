#include "api/ec2/ec2.h"

namespace drover::aws {

namespace json = boost::json;

namespace {

constexpr std::string_view kZoneLetters = "abc";

}  // namespace

const Ec2Api::Kind Ec2Api::kVpcs{.type = "vpc",
                                 .prefix = "vpc-",
                                 .documents = "ec2.network",
                                 .list = "Vpcs",
                                 .id = {"VpcIds", "VpcId", "InvalidVpcID.NotFound"},
                                 .name = {},
                                 .filters = {{"vpc-id", "VpcId"},
                                             {"isDefault", "IsDefault"},
                                             {"is-default", "IsDefault"},
                                             {"cidr", "CidrBlock"},
                                             {"owner-id", "OwnerId"},
                                             {"state", "State"}},
                                 .load = &Ec2Api::load_vpcs};

const Ec2Api::Kind Ec2Api::kSubnets{.type = "subnet",
                                    .prefix = "subnet-",
                                    .documents = "ec2.network",
                                    .list = "Subnets",
                                    .id = {"SubnetIds", "SubnetId", "InvalidSubnetID.NotFound"},
                                    .name = {},
                                    .filters = {{"subnet-id", "SubnetId"},
                                                {"vpc-id", "VpcId"},
                                                {"availability-zone", "AvailabilityZone"},
                                                {"cidr-block", "CidrBlock"},
                                                {"default-for-az", "DefaultForAz"},
                                                {"owner-id", "OwnerId"},
                                                {"state", "State"}},
                                    .load = &Ec2Api::load_subnets};

void Ec2Api::serve_network() {
  on_read("DescribeAvailabilityZones", &Ec2Api::describe_zones);
  on_read("DescribeVpcs", &Ec2Api::describe_vpcs);
  on_read("DescribeSubnets", &Ec2Api::describe_subnets);
}

// Of a resource that is always there only the tags are taken from its document.
Ec2Api::Found<Stored> Ec2Api::with_kept_tags(Stored resource) const {
  auto kept = documents(kVpcs).find(resource.name);
  if (!kept) return std::unexpected(fault(kept.error()));
  if (!*kept) return resource;
  resource.version = (*kept)->version;
  if (const json::value* tags = (*kept)->value.if_contains("Tags")) resource.value["Tags"] = *tags;
  return resource;
}

Ec2Api::Found<std::vector<Stored>> Ec2Api::load_vpcs(const Call& /*call*/) const {
  auto vpc = with_kept_tags({std::string(kVpc),
                             {{"CidrBlock", "172.31.0.0/16"},
                              {"State", "available"},
                              {"VpcId", kVpc},
                              {"OwnerId", account().id},
                              {"InstanceTenancy", "default"},
                              {"IsDefault", true}}});
  if (!vpc) return std::unexpected(std::move(vpc.error()));
  return std::vector{std::move(*vpc)};
}

Ec2Api::Found<std::vector<Stored>> Ec2Api::load_subnets(const Call& call) const {
  std::vector<Stored> out;
  for (std::size_t i = 0; i < kZoneLetters.size(); ++i) {
    const std::string id = concat("subnet-0d0be70000000000", i + 1);
    auto subnet = with_kept_tags({id,
                                  {{"AvailabilityZone", concat(call.region, kZoneLetters[i])},
                                   {"AvailableIpAddressCount", 4091},
                                   {"CidrBlock", concat("172.31.", i * 16, ".0/20")},
                                   {"DefaultForAz", true},
                                   {"State", "available"},
                                   {"SubnetId", id},
                                   {"VpcId", kVpc},
                                   {"OwnerId", account().id},
                                   {"SubnetArn", account().arn("ec2", call.region, concat("subnet/", id))}}});
    if (!subnet) return std::unexpected(std::move(subnet.error()));
    out.push_back(std::move(*subnet));
  }
  return out;
}

Outcome Ec2Api::describe_zones(const Call& call) const {
  static const Kind kind{.type = {},
                         .prefix = {},
                         .documents = {},
                         .list = "AvailabilityZones",
                         .id = {"ZoneIds", "ZoneId", "InvalidParameterValue"},
                         .name = {"ZoneNames", "ZoneName", "InvalidParameterValue"},
                         .filters = {{"zone-name", "ZoneName"},
                                     {"zone-id", "ZoneId"},
                                     {"zone-type", "ZoneType"},
                                     {"state", "State"},
                                     {"region-name", "RegionName"}}};
  json::array all;
  for (std::size_t i = 0; i < kZoneLetters.size(); ++i) {
    all.push_back(json::object{{"State", "available"},
                               {"RegionName", call.region},
                               {"ZoneName", concat(call.region, kZoneLetters[i])},
                               {"ZoneId", concat("az", i + 1)},
                               {"ZoneType", "availability-zone"}});
  }
  return describe(kind, call, std::move(all));
}

}  // namespace drover::aws
