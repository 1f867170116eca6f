// The steps of the manifest benchmark. Each runs in a process of its own, so that its peak memory is its own, and
// prints one line of JSON.
#pragma once

#include <cstdint>
#include <string>

namespace drover {

/// Writes a list of `items` lines of 60 bytes that compress about as well as object names do.
void write_list(const std::string& path, std::uint64_t items);

/// Takes the list into a new store, as `drover run --items` does, until the job is durably accepted.
void accept_list(const std::string& list, const std::string& database);

/// Makes a random half of the accepted job's items succeeded, with their attempts in the ledger.
void finish_half(const std::string& database);

/// Opens the store, loads the core and takes a first lease, as `drover resume` does.
void open_half_finished(const std::string& database);

}  // namespace drover
