// Paths, queries, numbers and texts out of a request's first line.
#include "base/url.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "fuzzed.h"

namespace drover {

void fuzz_one(std::string_view bytes) {
  if (const auto segments = path_segments(bytes)) {
    DROVER_CHECK(!segments->empty() && bytes.starts_with('/'), "a path has a segment");
  }
  if (const auto decoded = percent_decoded(bytes)) {
    DROVER_CHECK(decoded->size() <= bytes.size(), "decoding makes nothing longer");
  }
  static_cast<void>(query_pairs(bytes));
  const std::string text = utf8(bytes);
  DROVER_CHECK(utf8(text) == text, "what is UTF-8 stays as it is");
  if (const auto ms = parse_duration_ms(bytes)) DROVER_CHECK(*ms >= 0, "no time is negative");
  static_cast<void>(parse_size(bytes));
  static_cast<void>(parse_number(bytes));
  if (const auto uuid = Uuid::parse(bytes)) DROVER_CHECK(Uuid::parse(uuid->text()) == uuid, "an id is read back");
}

}  // namespace drover
