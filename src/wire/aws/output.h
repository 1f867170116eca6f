// An operation's output, written by its description in the protocol that the client speaks. The values are those of
// wire/aws/input.h. Integers are written as integers.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "wire/aws/model.h"

namespace drover::aws {

/// A JSON body. Every member of `value` must be described.
std::string json_output(const Shape& output, const boost::json::object& value);

/// <OPERATIONResponse xmlns="…"><OPERATIONResult>…</OPERATIONResult><ResponseMetadata>…
std::string query_output(const Operation& operation, const boost::json::object& value, std::string_view xml_namespace,
                         std::string_view request_id);

/// <OPERATIONResponse xmlns="…"><requestId>…</requestId>…: lists of <item>.
std::string ec2_output(const Operation& operation, const boost::json::object& value, std::string_view xml_namespace,
                       std::string_view request_id);

/// Text as it stands between tags. What XML cannot carry is replaced.
std::string xml_text(std::string_view text);

}  // namespace drover::aws
