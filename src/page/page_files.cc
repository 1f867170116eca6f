#include "page/page_files.h"

// In page_files.S.
extern "C" const char drover_page_skeleton_begin[];
extern "C" const char drover_page_skeleton_end[];
extern "C" const char drover_page_style_begin[];
extern "C" const char drover_page_style_end[];
extern "C" const char drover_page_script_begin[];
extern "C" const char drover_page_script_end[];

namespace drover::page {

std::string_view skeleton() {
  return {drover_page_skeleton_begin, drover_page_skeleton_end};
}

std::string_view style() {
  return {drover_page_style_begin, drover_page_style_end};
}

std::string_view script() {
  return {drover_page_script_begin, drover_page_script_end};
}

}  // namespace drover::page
