#pragma once

#include <string_view>

namespace drover {

/// Tells whoever started this process as a service that it is ready, or that it stops ("READY=1", "STOPPING=1"; see
/// sd_notify(3)). Where nobody asked to be told ($NOTIFY_SOCKET), nothing happens.
void notify_service_manager(std::string_view state);

}  // namespace drover
