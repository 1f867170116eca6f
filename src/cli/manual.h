// Manual pages, as roff, from the tree of commands.
#pragma once

#include <string>
#include <vector>

#include "cli/command_tree.h"

namespace drover {

struct ManualPage {
  std::string file;  // "drover-run.1"
  std::string text;
};

/// One for the whole, one for each verb.
std::vector<ManualPage> manual_pages(const CommandNode& root, const std::string& version);

}  // namespace drover
