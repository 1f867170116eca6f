// The MD5 sums with which clients of SQS check what was sent and received.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/message_content.h"

namespace drover::aws {

/// In hexadecimal digits; empty where this machine may not compute MD5.
std::string md5_hex(std::string_view bytes);
/// Of attributes that are sorted by name; empty without attributes.
std::string md5_of_attributes(const std::vector<MessageAttribute>& attributes);

}  // namespace drover::aws
