// A list of items as it is uploaded: however it is cut, the items are the same.
#include "api/native/item_lines.h"

#include <optional>

#include "fake_server.h"
#include "fuzzed.h"

namespace drover {
namespace {

/// Nothing: the list was refused, because a line of it holds a NUL byte.
std::optional<std::vector<std::string>> items_of(std::string_view bytes, char separator, std::size_t cut) {
  FakeBackend backend;
  ItemLines lines(backend, separator);
  const bool is_good = separator == '\0' || !bytes.contains('\0');
  while (!bytes.empty()) {
    const std::size_t size = std::min(cut, bytes.size());
    const bool taken = lines.take(bytes.substr(0, size)).has_value();
    DROVER_CHECK(taken || !is_good, "short items are taken");
    if (!taken) return std::nullopt;
    bytes.remove_prefix(size);
  }
  if (!is_good) {
    DROVER_CHECK(!lines.finish(), "no command line can carry a NUL byte");
    return std::nullopt;
  }
  DROVER_CHECK(lines.finish().has_value() && lines.manifest()->items == backend.items_taken.size(),
               "everything that was taken is counted");
  return backend.items_taken;
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  Choices choices(bytes);
  const char separator = choices.below(2) == 0 ? '\n' : '\0';
  const std::size_t cut = 1 + choices.below(32);
  const std::string_view list = choices.rest();
  const auto items = items_of(list, separator, list.size());
  DROVER_CHECK(items == items_of(list, separator, cut), "it does not matter how bytes arrive");
  if (!items) return;
  for (const std::string& item : *items)
    DROVER_CHECK((separator == '\0' || !item.empty()) && item.find(separator) == std::string::npos, "an item is one");
}

}  // namespace drover
