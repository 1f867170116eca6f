// Removing a tree that somebody else has shaped: as deep as they like, with folders that cannot be entered.
#pragma once

#include <string>

namespace drover {

/// What the names of folders that were moved begin with: one that is left is of somebody who was killed meanwhile, or
/// was not allowed to empty it.
inline constexpr const char* kRemovedStem = ".removed-";

/// Removes `name` of the open folder `parent`, whatever it is; nothing there is no error. Folders in it are moved next
/// to each other before they are emptied, so depth costs neither descriptors nor stack. `parent` must be the caller's
/// own. 0, or an errno.
int remove_tree(int parent, const std::string& name);
/// The same by its path.
int remove_tree(const std::string& path);

}  // namespace drover
