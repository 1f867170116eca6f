#include "cli/accept_items.h"

#include "worker/stop_on_signal.h"

namespace drover {

Result<WrittenManifest> accept_items(Store& store, const ItemSource& source, const CommandTemplate& command) {
  if (const auto* range = std::get_if<RangeSource>(&source)) {
    return write_range_manifest(store, range->first, range->count());
  }
  auto writer = ManifestWriter::begin(store);
  if (!writer) return pass(writer);
  const StopOnSignal signals;  // whoever waits for a list may have enough of it
  std::uint64_t index = 0;
  const auto take = [&](std::string_view item) -> Result<void> {
    if (auto fits = command.check(item, ItemIndex{index++}); !fits) return fits;
    return (*writer)->add(item);
  };
  auto read = read_items(source, take, signals.token());
  if (!read) return pass(read);
  return (*writer)->finish();
}

}  // namespace drover
