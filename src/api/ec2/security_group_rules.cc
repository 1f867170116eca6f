#include "api/ec2/security_group_rules.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>

#include "api/aws/aws_api.h"
#include "api/ec2/ec2.h"
#include "base/units.h"

namespace drover::aws {

namespace json = boost::json;

namespace {

constexpr std::string_view kAllProtocols = "-1";

/// "10.0.0.0/8" for "10.1.2.3/8"; nothing if it is not a range of addresses.
std::optional<std::string> canonical_cidr(int family, std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto length = parse_number(text.substr(slash + 1));
  std::array<std::uint8_t, sizeof(in6_addr)> address{};
  const std::size_t bytes = family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr);
  if (!length || *length > bytes * 8) return std::nullopt;
  if (inet_pton(family, std::string(text.substr(0, slash)).c_str(), address.data()) != 1) return std::nullopt;
  for (std::size_t bit = *length; bit < bytes * 8; ++bit) {
    address[bit / 8] = static_cast<std::uint8_t>(address[bit / 8] & ~(0x80U >> (bit % 8)));
  }
  std::array<char, INET6_ADDRSTRLEN> out{};
  inet_ntop(family, address.data(), out.data(), out.size());
  return concat(out.data(), "/", *length);
}

std::string protocol_name(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNames{
      {{"1", "icmp"}, {"6", "tcp"}, {"17", "udp"}, {"58", "icmpv6"}, {"all", kAllProtocols}}};
  const std::string small = in_small_letters(text);
  const auto named = std::ranges::find(kNames, small, &decltype(kNames)::value_type::first);
  return std::string(named == kNames.end() ? small : named->second);
}

std::unexpected<Fault> bad_rule(std::string message) {
  return failed("InvalidParameterValue", std::move(message));
}

/// The protocol and the ports.
std::expected<json::object, Fault> traffic_of(const json::object& permission) {
  if (!permission.contains("IpProtocol")) {
    return failed("MissingParameter", "The request must contain the parameter IpProtocol");
  }
  const std::string protocol = protocol_name(member_text(permission, "IpProtocol"));
  const bool has_ports = protocol == "tcp" || protocol == "udp";
  const bool has_types = protocol == "icmp" || protocol == "icmpv6";
  const auto number = parse_number(protocol);
  if (!has_ports && !has_types && protocol != kAllProtocols && (!number || *number > 255)) {
    return bad_rule(concat("Invalid value '", protocol, "' for IP protocol. Unknown protocol."));
  }
  json::object out{{"IpProtocol", protocol}};
  if (!has_ports && !has_types) return out;
  const json::value* from = permission.if_contains("FromPort");
  const json::value* to = permission.if_contains("ToPort");
  if (has_ports && (from == nullptr || to == nullptr)) {
    return failed("MissingParameter",
                  concat("The request must contain the parameters FromPort and ToPort for the protocol ", protocol));
  }
  const std::int64_t first = from == nullptr ? -1 : from->get_int64();
  const std::int64_t last = to == nullptr ? -1 : to->get_int64();
  const bool is_range = has_ports ? first >= 0 && first <= last && last <= 65535
                                  : first >= -1 && first <= 255 && last >= -1 && last <= 255;
  if (!is_range) return bad_rule(concat("Invalid value '", first, "-", last, "' for FromPort and ToPort"));
  out["FromPort"] = first;
  out["ToPort"] = last;
  return out;
}

/// Where the elements of a list of a permission go in a rule.
struct SourceList {
  std::string_view list;
  std::string_view element;
  std::string_view member;  // of a rule
  int family = AF_INET;
};
constexpr std::array kSourceLists{SourceList{"IpRanges", "CidrIp", "CidrIpv4", AF_INET},
                                  SourceList{"Ipv6Ranges", "CidrIpv6", "CidrIpv6", AF_INET6}};

const json::array& list_or_none(const json::object& object, std::string_view member) {
  static const json::array none;
  const json::value* it = object.if_contains(member);
  return it == nullptr ? none : it->get_array();
}

}  // namespace

std::expected<json::array, Fault> rules_of(const json::object& permission, const FindSourceGroup& find) {
  const auto traffic = traffic_of(permission);
  if (!traffic) return std::unexpected(traffic.error());
  json::array out;
  const auto add = [&](const json::object& source, std::string_view member, std::string_view value) {
    json::object rule = *traffic;
    rule[member] = value;
    if (const json::value* it = source.if_contains("Description")) rule["Description"] = *it;
    out.push_back(std::move(rule));
  };
  for (const SourceList& sources : kSourceLists) {
    for (const json::value& it : list_or_none(permission, sources.list)) {
      const std::string_view text = member_text(it.get_object(), sources.element);
      const auto cidr = canonical_cidr(sources.family, text);
      if (!cidr) return bad_rule(concat(sources.element, " '", text, "' is not a valid CIDR block"));
      add(it.get_object(), sources.member, *cidr);
    }
  }
  for (const json::value& it : list_or_none(permission, "UserIdGroupPairs")) {
    auto group = find(it.get_object());
    if (!group) return std::unexpected(std::move(group.error()));
    add(it.get_object(), "ReferencedGroupId", *group);
  }
  for (const json::value& it : list_or_none(permission, "PrefixListIds")) {
    return failed("InvalidPrefixListID.NotFound",
                  concat("The prefix list '", member_text(it.get_object(), "PrefixListId"), "' does not exist"));
  }
  if (out.empty())
    return failed("MissingParameter",
                  "Source group or CIDR missing: IpRanges, Ipv6Ranges and UserIdGroupPairs are empty");
  return out;
}

bool is_same_rule(const json::object& one, const json::object& other) {
  const auto traffic = [](json::object rule) {
    rule.erase("SecurityGroupRuleId");
    rule.erase("Description");
    return rule;
  };
  return traffic(one) == traffic(other);
}

json::array permissions_of(const json::array& rules, std::string_view account) {
  json::array out;
  for (const json::value& it : rules) {
    const json::object& rule = it.get_object();
    json::object empty{{"IpProtocol", rule.at("IpProtocol")}};
    for (const char* member : {"FromPort", "ToPort"}) {
      if (const json::value* port = rule.if_contains(member)) empty[member] = *port;
    }
    const auto is_like = [&](const json::value& other) {
      return std::ranges::all_of(std::array{"IpProtocol", "FromPort", "ToPort"}, [&](const char* member) {
        const json::value* one = empty.if_contains(member);
        const json::value* two = other.get_object().if_contains(member);
        return one == nullptr || two == nullptr ? one == two : *one == *two;
      });
    };
    auto permission = std::ranges::find_if(out, is_like);
    if (permission == out.end()) {
      for (const char* list : {"IpRanges", "Ipv6Ranges", "PrefixListIds", "UserIdGroupPairs"})
        empty[list] = json::array();
      out.push_back(std::move(empty));
      permission = std::prev(out.end());
    }
    const auto add = [&](std::string_view list, json::object source) {
      if (const json::value* text = rule.if_contains("Description")) source["Description"] = *text;
      permission->at(list).get_array().push_back(std::move(source));
    };
    for (const SourceList& sources : kSourceLists) {
      if (const json::value* cidr = rule.if_contains(sources.member)) add(sources.list, {{sources.element, *cidr}});
    }
    if (const json::value* group = rule.if_contains("ReferencedGroupId")) {
      add("UserIdGroupPairs", {{"GroupId", *group}, {"UserId", account}});
    }
  }
  return out;
}

json::object shown_rule(const json::object& rule, std::string_view group, std::string_view account) {
  json::object out = rule;
  out["GroupId"] = group;
  out["GroupOwnerId"] = account;
  out["IsEgress"] = false;
  if (const json::value* source = rule.if_contains("ReferencedGroupId")) {
    out["ReferencedGroupInfo"] = json::object{{"GroupId", *source}, {"UserId", account}};
    out.erase("ReferencedGroupId");
  }
  return out;
}

std::string rule_text(const json::object& rule) {
  std::string source;
  for (const char* member : {"CidrIpv4", "CidrIpv6", "ReferencedGroupId"}) source += member_text(rule, member);
  std::string protocol(member_text(rule, "IpProtocol"));
  std::ranges::transform(protocol, protocol.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string out = concat("peer: ", source, ", ", protocol == kAllProtocols ? "ALL" : protocol);
  if (rule.contains("FromPort")) {
    out += concat(", from port: ", rule.at("FromPort").get_int64(), ", to port: ", rule.at("ToPort").get_int64());
  }
  return out + ", ALLOW";
}

}  // namespace drover::aws
