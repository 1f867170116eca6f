// A search through the logs of a job as the answer to a request: a JSON object for each line that matches, sent as they
// are found.
#pragma once

#include <string>

#include "ports/backend.h"

namespace drover {

/// Returns when all was searched and written, or the peer is gone. Waits for disks, and for peers that read slowly.
void answer_search(StoreReader& reader, const std::string& logs, const SearchQuestion& question, HttpReply reply);

}  // namespace drover
