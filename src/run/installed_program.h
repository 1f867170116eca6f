// Where a program of the machine lies.
#pragma once

#include <string>
#include <string_view>

namespace drover {

/// By PATH, then in the usual places. Empty: it is not installed.
std::string installed_program(std::string_view name);

}  // namespace drover
