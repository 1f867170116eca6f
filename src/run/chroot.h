// Whether the folder that this process takes for the root of all files is that of its mount namespace.
#pragma once

namespace drover {

/// A container's runtime cannot keep anybody inside who can find a root above its own, and who joins a container's
/// mounts or comes back from them gets the true root. Where that cannot be tried it is said to be none.
bool is_in_chroot();

}  // namespace drover
