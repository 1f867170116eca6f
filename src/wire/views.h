// Jobs, items and attempts as JSON, as every face shows them.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string_view>

#include "core/event.h"
#include "core/records.h"

namespace drover {

boost::json::object job_to_json(const Job& job, const ItemCounts& counts);
boost::json::object attempt_to_json(const Attempt& attempt);
boost::json::object labels_json(const Labels& labels);
boost::json::object event_to_json(const Event& event);
boost::json::object usage_to_json(const JobUsage& used);
/// Puts bytes in: as NAME, or as NAME_b64 where JSON cannot carry them.
void put_bytes(boost::json::object& out, std::string_view name, std::string_view bytes);
/// Puts the item's text in: as "item", or as "item_b64" where JSON cannot carry it.
void put_item_text(boost::json::object& out, std::string_view text);

}  // namespace drover
