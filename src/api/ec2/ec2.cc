#include "api/ec2/ec2.h"

#include <algorithm>
#include <boost/json/array.hpp>

#include "base/entropy.h"
#include "wire/aws/times.h"

extern "C" const char drover_ec2_operations_begin[];
extern "C" const char drover_ec2_operations_end[];

namespace drover::aws {

namespace json = boost::json;

namespace {

constexpr std::string_view kVpc = "vpc-0d0be700000000001";
constexpr std::string_view kGroup = "sg-0d0be700000000001";
constexpr std::string_view kZones = "abc";

bool is_among(const json::value* chosen, const json::value& it) {
  return chosen == nullptr || chosen->get_array().empty() ||
         std::ranges::find(chosen->get_array(), it) != chosen->get_array().end();
}

/// As filters write it.
std::string filter_text(const json::value& value) {
  if (value.is_bool()) return value.get_bool() ? "true" : "false";
  return value.is_string() ? std::string(value.get_string()) : std::string();
}

}  // namespace

Ec2Api::Ec2Api(Backend& backend, const Account& account, std::function<std::int64_t()> now_ms)
    : AwsApi(backend, account,
             {.service = "ec2",
              .protocol = Protocol::ec2,
              .bad_input = "InvalidParameterValue",
              .xml_namespace = "http://ec2.amazonaws.com/doc/2016-11-15/"},
             {drover_ec2_operations_begin, drover_ec2_operations_end}),
      now_ms_(std::move(now_ms)) {
  on_edit("CreateImage", Action::administrate, [this](const Call& call) { return create_image(call); });
  on_read("DescribeImages", Action::read, [this](const Call& call) { return describe_images(call); });
  on_read("DescribeAvailabilityZones", Action::read, [this](const Call& call) {
    static const Kind kind{"AvailabilityZones",
                           "ZoneNames",
                           "ZoneName",
                           "InvalidParameterValue",
                           {{"zone-name", "ZoneName"}, {"state", "State"}, {"region-name", "RegionName"}}};
    return choose(kind, call, zones(call));
  });
  on_read("DescribeVpcs", Action::read, [this](const Call& call) {
    static const Kind kind{
        "Vpcs",
        "VpcIds",
        "VpcId",
        "InvalidVpcID.NotFound",
        {{"vpc-id", "VpcId"}, {"isDefault", "IsDefault"}, {"is-default", "IsDefault"}, {"state", "State"}}};
    return choose(kind, call, vpcs());
  });
  on_read("DescribeSubnets", Action::read, [this](const Call& call) {
    static const Kind kind{"Subnets",
                           "SubnetIds",
                           "SubnetId",
                           "InvalidSubnetID.NotFound",
                           {{"subnet-id", "SubnetId"},
                            {"vpc-id", "VpcId"},
                            {"availability-zone", "AvailabilityZone"},
                            {"default-for-az", "DefaultForAz"},
                            {"state", "State"}}};
    return choose(kind, call, subnets(call));
  });
  on_read("DescribeSecurityGroups", Action::read, [this](const Call& call) {
    static const Kind kind{"SecurityGroups",
                           "GroupIds",
                           "GroupId",
                           "InvalidGroup.NotFound",
                           {{"group-id", "GroupId"}, {"group-name", "GroupName"}, {"vpc-id", "VpcId"}}};
    json::array all = security_groups();
    if (const json::value* names = call.input.if_contains("GroupNames")) {
      for (const json::value& name : names->get_array()) {
        if (name != "default")
          return Outcome(
              failed("InvalidGroup.NotFound",
                     concat("The security group '", std::string_view(name.get_string()), "' does not exist")));
      }
    }
    return choose(kind, call, std::move(all));
  });
}

// An id that there is not is an error; a filter that matches nothing is not.
Outcome Ec2Api::choose(const Kind& kind, const Call& call, json::array all) {
  const json::value* ids = call.input.if_contains(kind.ids);
  for (std::size_t i = 0; ids != nullptr && i < ids->get_array().size(); ++i) {
    const json::value& id = ids->get_array()[i];
    if (std::ranges::none_of(all, [&](const json::value& it) { return it.at(kind.id) == id; })) {
      return failed(std::string(kind.not_found), concat("'", std::string_view(id.get_string()), "' does not exist"));
    }
  }
  json::array out;
  const json::value* filters = call.input.if_contains("Filters");
  for (json::value& it : all) {
    bool is_chosen = is_among(ids, it.at(kind.id));
    for (std::size_t i = 0; filters != nullptr && i < filters->get_array().size(); ++i) {
      const json::object& filter = filters->get_array()[i].get_object();
      const json::value* name = filter.if_contains("Name");
      const json::value* values = filter.if_contains("Values");
      const auto known = std::ranges::find_if(kind.filters, [&](const auto& one) {
        return name != nullptr && one.first == std::string_view(name->get_string());
      });
      if (known == kind.filters.end()) {
        return failed("InvalidParameterValue",
                      concat("The filter '", name == nullptr ? "" : std::string(name->get_string()), "' is invalid"));
      }
      const json::value* member = it.get_object().if_contains(known->second);
      is_chosen = is_chosen && member != nullptr && is_among(values, json::value(filter_text(*member)));
    }
    if (is_chosen) out.push_back(std::move(it));
  }
  return json::object{{kind.list, std::move(out)}};
}

json::array Ec2Api::zones(const Call& call) const {
  json::array out;
  for (std::size_t i = 0; i < kZones.size(); ++i) {
    out.push_back(json::object{{"State", "available"},
                               {"RegionName", call.region},
                               {"ZoneName", concat(call.region, kZones[i])},
                               {"ZoneId", concat("az", i + 1)},
                               {"ZoneType", "availability-zone"}});
  }
  return out;
}

json::array Ec2Api::vpcs() const {
  return {json::object{{"CidrBlock", "172.31.0.0/16"},
                       {"State", "available"},
                       {"VpcId", kVpc},
                       {"OwnerId", account().id},
                       {"InstanceTenancy", "default"},
                       {"IsDefault", true}}};
}

json::array Ec2Api::subnets(const Call& call) const {
  json::array out;
  for (std::size_t i = 0; i < kZones.size(); ++i) {
    const std::string id = concat("subnet-0d0be70000000000", i + 1);
    out.push_back(json::object{{"AvailabilityZone", concat(call.region, kZones[i])},
                               {"AvailableIpAddressCount", 4091},
                               {"CidrBlock", concat("172.31.", i * 16, ".0/20")},
                               {"DefaultForAz", true},
                               {"State", "available"},
                               {"SubnetId", id},
                               {"VpcId", kVpc},
                               {"OwnerId", account().id},
                               {"SubnetArn", account().arn("ec2", call.region, concat("subnet/", id))}});
  }
  return out;
}

json::array Ec2Api::security_groups() const {
  return {json::object{{"Description", "default VPC security group"},
                       {"GroupName", "default"},
                       {"OwnerId", account().id},
                       {"GroupId", kGroup},
                       {"VpcId", kVpc}}};
}

EditOutcome Ec2Api::create_image(const Call& call) {
  auto all = images().all();
  if (!all) return std::unexpected(fault(all.error()));
  for (const Stored& it : *all) {
    if (it.value.at("Name") == call.input.at("Name")) {
      return failed("InvalidAMIName.Duplicate",
                    concat("AMI name ", std::string_view(call.input.at("Name").get_string()),
                           " is already in use by AMI ", it.name));
    }
  }
  std::string id = "ami-0";
  for (const char c : random_uuid().text().substr(0, 18)) {
    if (c != '-') id += c;
  }
  json::object image{{"ImageId", id},        {"Name", call.input.at("Name")},       {"OwnerId", account().id},
                     {"State", "available"}, {"CreationDate", iso_time(now_ms_())}, {"Public", false}};
  if (const json::value* it = call.input.if_contains("Description")) image["Description"] = *it;
  return Edit{{images().add(id, image)}, {{"ImageId", id}}};
}

Outcome Ec2Api::describe_images(const Call& call) {
  static const Kind kind{"Images",
                         "ImageIds",
                         "ImageId",
                         "InvalidAMIID.NotFound",
                         {{"name", "Name"}, {"image-id", "ImageId"}, {"owner-id", "OwnerId"}, {"state", "State"}}};
  auto stored = images().all();
  if (!stored) return std::unexpected(fault(stored.error()));
  const json::value* owners = call.input.if_contains("Owners");
  const bool is_ours = owners == nullptr || owners->get_array().empty() ||
                       std::ranges::any_of(owners->get_array(), [&](const json::value& it) {
                         return it == "self" || it == json::value(account().id);
                       });
  json::array all;
  for (Stored& it : *stored) {
    if (is_ours) all.push_back(std::move(it.value));
  }
  return choose(kind, call, std::move(all));
}

}  // namespace drover::aws
