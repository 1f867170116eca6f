// Logs as bodies of responses: made piece by piece, as fast as the reader takes them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "logs/log_reader.h"
#include "ports/backend.h"

namespace drover {

/// What the attempt printed of one frame.
Result<std::string> frame_text(LogReader& reader, const FramePlace& place, const LogKey& key, bool only_stderr);

/// The output of these attempts, one after another.
Result<std::unique_ptr<HttpBodySource>> log_body(const std::string& folder, const std::vector<Attempt>& attempts,
                                                 const LogQuestion& question);

}  // namespace drover
