// Removing a folder that items have written into. Compiled into drover and into the slot's helper.
#pragma once

#include <string>

namespace drover {

/// Removes a folder and all that is in it, however deep it goes: what is below is first moved up, so this needs neither
/// a stack nor many descriptors. Never leaves the folder: links are removed, not followed. Whatever resists stays.
void remove_tree(const std::string& folder);

}  // namespace drover
