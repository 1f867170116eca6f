// What strangers show as a key: a bearer token, a job's key, the secret of a join token. None of them is one.
#include "fuzzed.h"
#include "keys/key_ring.h"

namespace drover {
namespace {

constexpr std::int64_t kNowMs = 1'700'000'000'000;

KeyRing& ring() {
  static const std::unique_ptr<KeyRing> made = [] {
    auto opened = KeyRing::open(own_folder() + "/keys.json", kNowMs);
    DROVER_CHECK(opened.has_value(), "a ring can be made");
    return std::move(*opened);
  }();
  return *made;
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  DROVER_CHECK(!ring().check(bytes, kNowMs), "nobody guesses a key");
  DROVER_CHECK(!ring().join(bytes, "nonce", "name", kNowMs), "nobody guesses a token");
}

}  // namespace drover
