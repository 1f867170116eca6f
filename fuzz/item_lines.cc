// A list of items as it is uploaded: however it is cut, the items are the same.
#include "api/item_lines.h"

#include "fake_server.h"
#include "fuzzed.h"

namespace drover {
namespace {

std::vector<std::string> items_of(std::string_view bytes, char separator, std::size_t cut) {
  FakeBackend backend;
  ItemLines lines(backend, separator);
  while (!bytes.empty()) {
    const std::size_t size = std::min(cut, bytes.size());
    DROVER_CHECK(lines.take(bytes.substr(0, size)).has_value(), "short items are taken");
    bytes.remove_prefix(size);
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
  const std::vector<std::string> items = items_of(list, separator, list.size());
  DROVER_CHECK(items == items_of(list, separator, cut), "it does not matter how bytes arrive");
  for (const std::string& item : items)
    DROVER_CHECK(!item.empty() && item.find(separator) == std::string::npos, "an item is one");
}

}  // namespace drover
