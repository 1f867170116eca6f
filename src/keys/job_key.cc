#include "keys/job_key.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"
#include "wire/digest.h"

namespace drover {
namespace {

// drover-job-UUID.GIVER.EXPIRES_MS.MAC
constexpr std::string_view kJobKeyPrefix = "drover-job-";

SecretText mac_text(const SecretText& server_secret, std::string_view claim) {
  return SecretText(base64url(hmac_sha256(server_secret.reveal(), claim)));
}

/// What stands before the next dot, or all of it; taken from the front of `rest`.
std::string_view next_part(std::string_view& rest) {
  const std::string_view part = rest.substr(0, rest.find('.'));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

}  // namespace

SecretText make_job_key(const SecretText& server_secret, const Uuid& job, std::string_view giver,
                        std::int64_t expires_ms) {
  DROVER_CHECK(expires_ms >= 0, "a time before 1970");
  DROVER_CHECK(!giver.contains('.'), "an id has no dot");
  const std::string claim = concat(kJobKeyPrefix, job.text(), ".", giver, ".", expires_ms);
  return SecretText(concat(claim, ".", mac_text(server_secret, claim).reveal()));
}

bool looks_like_job_key(std::string_view text) {
  return text.starts_with(kJobKeyPrefix);
}

Result<Caller> check_job_key(const SecretText& server_secret, std::string_view text, std::int64_t now_ms) {
  const auto wrong = [] {
    return fail(ErrorCode::denied, "this job key was not issued by this server",
                "use the key in the environment of a running attempt");
  };
  const std::size_t last_dot = text.rfind('.');
  if (!looks_like_job_key(text) || last_dot == std::string_view::npos) return wrong();
  const std::string_view claim = text.substr(0, last_dot);
  // The texts are compared, not what they decode to: no second spelling of a MAC is good.
  if (!mac_text(server_secret, claim).equals(text.substr(last_dot + 1))) return wrong();

  std::string_view rest = claim.substr(kJobKeyPrefix.size());
  const auto job = Uuid::parse(next_part(rest));
  const std::string_view giver = next_part(rest);
  const auto expires_ms = parse_number(rest);
  if (!job || !expires_ms) return wrong();
  if (std::cmp_greater_equal(now_ms, *expires_ms)) {
    return fail(ErrorCode::denied, concat("this key for job ", job->text(), " has expired"),
                "new attempts get a new key; setting a timeout for the job extends the key's lifetime");
  }
  return Caller{.scope = Scope::job,
                .key_id = std::string(giver),
                .label = concat("job ", job->text()),
                .fleet = {},
                .worker = {},
                .job = job};
}

}  // namespace drover
