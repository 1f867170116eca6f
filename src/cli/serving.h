// What `drover server` and `drover up` share: a server in this process, until it is told to stop.
#pragma once

#include "base/result.h"
#include "cli/image_here.h"
#include "server/server.h"

namespace drover {

Result<int> run_server(ServerOptions options, RegistryFlags registries);

}  // namespace drover
