// Where the fuzzer comes in.
#include "fuzzed.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  drover::fuzz_one({reinterpret_cast<const char*>(data), size});
  return 0;
}
