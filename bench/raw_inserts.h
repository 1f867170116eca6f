// The limit of the store: SQLite with the same durability, one prepared INSERT into one table.
#pragma once

#include <cstdint>
#include <string>

namespace drover {

/// Inserts `rows` rows of `row_bytes` in transactions of `batch`; returns the seconds it took.
double raw_inserts(const std::string& database, std::uint64_t rows, std::uint64_t batch, std::size_t row_bytes);

}  // namespace drover
