// The page's skeleton, style and script: files beside this one, part of the program.
#pragma once

#include <string_view>

namespace drover::page {

std::string_view skeleton();
std::string_view style();
std::string_view script();

}  // namespace drover::page
