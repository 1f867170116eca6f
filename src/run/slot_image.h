// The helper program of a slot. It is part of drover's own file, so that drover stays one file; to be run it has to
// lie somewhere the kernel can execute.
#pragma once

#include <span>

#include "base/result.h"
#include "ports/descriptor.h"

namespace drover {

/// The program's bytes.
std::span<const char> slot_program();

/// A copy of the program in memory, which no file system has to allow. Some machines forbid executing that.
Result<Descriptor> slot_image_in_memory();

/// A copy on disk, already without a name, in the first of the usual places that can be written and does not forbid
/// executing.
Result<Descriptor> slot_image_on_disk();

}  // namespace drover
