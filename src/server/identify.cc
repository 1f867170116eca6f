#include "server/identify.h"

namespace drover {
namespace {

constexpr std::string_view kBearer = "Bearer ";

}  // namespace

Identify identify_by_key(const KeyRing& keys, std::function<std::int64_t()> now_ms) {
  return [&keys, now_ms = std::move(now_ms)](const HttpHead& head) -> Result<Identity> {
    const std::string* authorization = head.header("Authorization");
    if (authorization == nullptr || !authorization->starts_with(kBearer)) {
      return fail(ErrorCode::denied, "this call requires a key",
                  "send 'Authorization: Bearer KEY'; the CLI reads it from $DROVER_KEY");
    }
    const std::string_view bearer = std::string_view(*authorization).substr(kBearer.size());
    auto caller = keys.check(bearer, now_ms());
    if (!caller) return pass(caller);
    return Identity{.caller = std::move(*caller),
                    .is_valid = [&keys, now_ms, bearer = SecretText(std::string(bearer))] {
                      return keys.check(bearer.reveal(), now_ms()).has_value();
                    }};
  };
}

}  // namespace drover
