// Lists in a job's or a queue's row, as JSON: what it comes after, the weights of its shares, its fleets.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/queue.h"
#include "core/records.h"

namespace drover {

std::string after_to_json(const std::vector<Dependency>& after);  // [{"job":3,"each":true}], by the ledger's numbers
std::optional<std::vector<Dependency>> after_from_json(std::string_view json);

std::string weights_to_json(const std::vector<ShareWeight>& weights);  // [{"share":"a*","weight":10000}]
std::optional<std::vector<ShareWeight>> weights_from_json(std::string_view json);

std::string names_to_json(const std::vector<std::string>& names);
std::optional<std::vector<std::string>> names_from_json(std::string_view json);

}  // namespace drover
