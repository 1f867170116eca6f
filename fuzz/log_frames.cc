// Frames of logs that a worker uploads, and where it says that they are: stored, and read back by somebody.
#include <future>

#include "fuzzed.h"
#include "logs/log_reader.h"
#include "server/log_intake.h"
#include "wire/worker_protocol.h"

namespace drover {
namespace {

constexpr std::uint64_t kMostRaw = std::uint64_t{4} << 20;

void read_back(const ExtentList& extents) {
  LogReader reader(own_folder());
  std::uint64_t records = 0;
  // What cannot be read is told, and it ends.
  reader.each_record(
      extents, {JobId{1}, ItemIndex{0}, AttemptNumber{1}}, [&](const LogRecord&) { return ++records < 1000; },
      [](const LogDamage&) {});
}

void look_into(std::string_view frame) {
  const auto sizes = read_frame_header(frame);
  if (!sizes || sizes->raw > kMostRaw) return;
  FrameUnpacker unpacker;
  std::string raw;
  if (!unpacker.unpack(frame.substr(kFrameHeader), sizes->raw, raw)) return;
  RecordCursor cursor(raw);
  std::size_t bytes = 0;
  while (const auto record = cursor.next()) bytes += record->bytes.size();
  DROVER_CHECK(bytes <= raw.size(), "records are parts of their frame");
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  static LogIntake intake(own_folder(), FreeSpace(own_folder(), 0, ""), [](const std::optional<Error>&) {});
  RecordCursor cursor(bytes);
  while (cursor.next()) {
  }
  look_into(bytes);
  auto frames = decode_texts(bytes);
  if (!frames) return;
  for (const std::string& frame : *frames) look_into(frame);
  const std::string extents = frames->empty() ? std::string() : frames->front();
  std::promise<Result<std::vector<Extent>>> placed;
  auto places = placed.get_future();
  const std::size_t count = frames->size();
  intake.add(std::move(*frames), [&](Result<std::vector<Extent>> result) { placed.set_value(std::move(result)); });
  if (const auto known = places.get()) {
    DROVER_CHECK(known->size() == count, "every frame has a place");
    ExtentList list;
    for (const Extent& extent : *known) list.add(extent);
    read_back(ExtentList::decode(list.encode().value));
  } else {
    DROVER_CHECK(known.error().code == ErrorCode::bad_input, "only what was sent can be wrong");
  }
  const ExtentList claimed = ExtentList::decode(extents);
  if (claimed.all().size() < 100) read_back(claimed);
}

}  // namespace drover
