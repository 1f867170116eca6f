// A list of items becomes a manifest in the store, as it is read.
#pragma once

#include "cli/item_source.h"
#include "store/manifest.h"
#include "worker/command_template.h"

namespace drover {

/// Every item is checked against the command that it is for. All are durable when it returns.
Result<WrittenManifest> accept_items(Store& store, const ItemSource& source, const CommandTemplate& command);

}  // namespace drover
