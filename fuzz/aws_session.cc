// A session token that a client of AWS sends: nothing is accepted but what was made with the server's secret, and what
// was made names the same caller again.
#include <algorithm>
#include <limits>

#include "base/text.h"
#include "base/utf8.h"
#include "fuzzed.h"
#include "keys/session.h"

namespace drover {
namespace {

const SecretText kServerSecret("c5a7e0d9f3b1");  // no seed is made with it
constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

FoundSigner check(std::string_view token, std::int64_t now_ms) {
  return check_session(kServerSecret, session_key_id(token), token, now_ms);
}

std::uint64_t take_number(Choices& choices) {
  std::uint64_t out = 0;
  for (int i = 0; i < 8; ++i) out = out << 8 | choices.below(256);
  return out;
}

std::string take_text(Choices& choices) {
  const std::size_t size = choices.below(64);
  std::string out;
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(choices.below(256));
  return utf8(out);
}

/// The last part of a token is its MAC.
std::string with_mac_of(const std::string& token, const std::string& other) {
  return token.substr(0, token.rfind('.')) + other.substr(other.rfind('.'));
}

void check_made(const SessionCredentials& made, const AwsSession& session) {
  DROVER_CHECK(made.key_id == session_key_id(made.session_token), "the token has its own access key");
  const auto found = check(made.session_token, session.expires_ms - 1);
  DROVER_CHECK(found && found->secret.equals(made.secret), "both sides have the same secret");
  const Caller& caller = found->caller;
  DROVER_CHECK(caller.key_id == session.giver && caller.role == session.role && caller.session == session.name &&
                   caller.job == session.job && caller.attempt == session.attempt,
               "the caller is the same");
  const auto late = check(made.session_token, session.expires_ms);
  DROVER_CHECK(!late && late.error().has_expired, "it expires at its time");
  DROVER_CHECK(!check_session(kServerSecret, made.key_id + "A", made.session_token, 0), "another access key");
  DROVER_CHECK(!check_session(SecretText("other"), made.key_id, made.session_token, 0), "another server's secret");
}

void check_changed(Choices& choices, const std::string& token) {
  std::string changed = token;
  changed[take_number(choices) % changed.size()] = static_cast<char>(choices.below(256));
  if (changed != token) DROVER_CHECK(!check(changed, 0), "a changed token is refused");
  DROVER_CHECK(!check(token.substr(0, take_number(choices) % token.size()), 0), "a part of a token is refused");
  DROVER_CHECK(!check(token + static_cast<char>(choices.below(256)), 0), "a token with more behind it is refused");
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  DROVER_CHECK(!check(bytes, 0), "nobody guesses a token");
  // A worker takes this from its server.
  const SessionCredentials foreign = attempt_credentials(bytes, {GrantId{1}, ItemIndex{2}}, AttemptNumber{3});
  DROVER_CHECK(!check(foreign.session_token, 0), "nobody guesses the key of a job's attempts");

  Choices choices(bytes);
  AwsSession session{.giver = take_text(choices), .role = take_text(choices), .name = take_text(choices)};
  session.expires_ms = static_cast<std::int64_t>(std::clamp<std::uint64_t>(take_number(choices), 1, kLast));
  if (choices.below(2) == 0) {
    session.job = Uuid::from_random({static_cast<std::uint8_t>(choices.below(256))});
    session.attempt = Token{GrantId{take_number(choices)}, ItemIndex{take_number(choices)}};
  }
  const SessionCredentials of_role = make_session(kServerSecret, session);
  check_made(of_role, session);
  check_changed(choices, of_role.session_token);
  if (!session.job || !session.attempt) return;

  std::erase(session.giver, '.');
  session.role.clear();
  session.name.clear();
  const SecretText key = make_attempts_key(kServerSecret, *session.job, session.giver, session.expires_ms);
  const AttemptNumber number{static_cast<std::uint32_t>(take_number(choices))};
  const SessionCredentials of_attempt = attempt_credentials(key.reveal(), *session.attempt, number);
  check_made(of_attempt, session);
  check_changed(choices, of_attempt.session_token);

  const SessionCredentials of_next =
      attempt_credentials(key.reveal(), *session.attempt, AttemptNumber{number.value + 1});
  DROVER_CHECK(of_next.key_id != of_attempt.key_id && of_next.secret != of_attempt.secret,
               "attempts have different credentials");
  for (const SessionCredentials* other : {&of_next, &of_role}) {
    DROVER_CHECK(!check(with_mac_of(of_attempt.session_token, other->session_token), 0), "the MAC of another token");
  }
}

}  // namespace drover
