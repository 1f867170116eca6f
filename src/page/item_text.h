// An item's text, as far as the page can show it.
#pragma once

#include "page/report.h"

namespace drover::page {

inline Result<std::string> item_text(const ReportOptions& options, ItemIndex item) {
  return options.item_text ? options.item_text(item) : std::string();
}

}  // namespace drover::page
