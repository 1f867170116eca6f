// What the system says in small text files: /proc, /etc, cgroups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drover {

/// Empty where there is nothing to read.
std::string read_system_file(const std::string& path);

/// False: it is not there, or takes it not.
bool write_system_file(const std::string& path, std::string_view text);

/// "a:b:c" into three.
std::vector<std::string> split_fields(const std::string& text, char by);

/// Nothing: there is something else in it.
std::optional<std::uint32_t> whole_number(std::string_view text);

}  // namespace drover
