// Bodies in the form aws-chunked: what is unpacked does not depend on how the bytes are cut, and is no longer than
// they.
#include "wire/aws/chunked_body.h"

#include "base/check.h"
#include "fuzzed.h"

namespace drover {
namespace {

struct Unpacked {
  bool is_whole = false;
  std::string data;

  bool operator==(const Unpacked&) const = default;
};

Unpacked unpack(std::string_view bytes, std::size_t piece, bool has_trailer) {
  aws::ChunkedBody body(std::nullopt, has_trailer);
  Unpacked out;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    if (!body.take(bytes.substr(0, piece), out.data)) return {};
  }
  out.is_whole = body.is_done();
  if (!out.is_whole) out.data.clear();
  return out;
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  for (const bool has_trailer : {false, true}) {
    const Unpacked whole = unpack(bytes, bytes.size() + 1, has_trailer);
    DROVER_CHECK(whole.data.size() < bytes.size() + 1, "nothing is unpacked that did not come");
    DROVER_CHECK(whole == unpack(bytes, 1, has_trailer), "how the bytes are cut makes no difference");
  }
}

}  // namespace drover
