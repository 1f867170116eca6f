// The rules of a security group. Requests and answers have permissions: a protocol, a range of ports, and lists of
// sources. A rule has one source, and an id; so it can be compared and removed alone.
//
//   {"SecurityGroupRuleId": "sgr-…", "IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "CidrIpv4": "10.0.0.0/8"}
//
// In place of CidrIpv4 it can have CidrIpv6 or ReferencedGroupId.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <expected>
#include <functional>

#include "api/aws/fault.h"

namespace drover::aws {

/// The id of the group that a request names as a source.
using FindSourceGroup = std::function<std::expected<std::string, Fault>(const boost::json::object& pair)>;

/// One rule for each source of a permission, without ids. Addresses and protocols are brought into one form.
std::expected<boost::json::array, Fault> rules_of(const boost::json::object& permission, const FindSourceGroup& find);

/// Whether both let the same in, whatever their ids and descriptions are.
bool is_same_rule(const boost::json::object& one, const boost::json::object& other);

/// As an answer has them: rules of the same protocol and ports are one permission.
boost::json::array permissions_of(const boost::json::array& rules, std::string_view account);

/// As the answer to AuthorizeSecurityGroupIngress has it.
boost::json::object shown_rule(const boost::json::object& rule, std::string_view group, std::string_view account);

/// "peer: 10.0.0.0/8, TCP, from port: 22, to port: 22, ALLOW": as AWS's messages name it.
std::string rule_text(const boost::json::object& rule);

}  // namespace drover::aws
