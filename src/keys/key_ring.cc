#include "keys/key_ring.h"

#include <boost/json.hpp>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "keys/job_key.h"
#include "keys/join_token.h"
#include "keys/private_file.h"
#include "keys/random_text.h"
#include "wire/digest.h"

namespace drover {
namespace {

constexpr std::string_view kKeyPrefix = "AKDR";
constexpr std::string_view kJoinPrefix = "JNDR";
constexpr std::size_t kIdLetters = 16;
constexpr std::size_t kSecretLetters = 40;
constexpr std::size_t kServerSecretBytes = 32;
constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kDayMs = 24 * kHourMs;
constexpr std::int64_t kRememberedMs = 7 * kDayMs;
constexpr std::int64_t kLongestLifeMs = 3650 * kDayMs;
constexpr std::uint64_t kMostUses = 100'000;
constexpr std::size_t kLongestText = 200;
constexpr std::size_t kShortestNonce = 16;

struct Credential {
  std::string_view id;
  std::string_view secret;
};

/// "ID.SECRET". Without a dot all of it is the id, which nobody has.
Credential split(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return {text, {}};
  return {text.substr(0, dot), text.substr(dot + 1)};
}

std::string new_id(std::string_view prefix) {
  return concat(prefix, random_text(kBase32Letters, kIdLetters));
}

SecretText new_secret() {
  return SecretText(random_text(kLettersAndDigits, kSecretLetters));
}

Key new_key(Scope scope, std::string label, std::int64_t now_ms) {
  return Key{.info = {.id = new_id(kKeyPrefix), .scope = scope, .label = std::move(label), .created_ms = now_ms},
             .secret = new_secret()};
}

bool expired(const std::optional<std::int64_t>& expires_ms, std::int64_t now_ms) {
  return expires_ms && *expires_ms <= now_ms;
}

std::string how_long_ago(std::int64_t then_ms, std::int64_t now_ms) {
  return concat(format_duration_us((now_ms - then_ms) * 1000), " ago");
}

/// Text that comes back from the file as it went in, and does no harm on a terminal.
Result<void> check_text(std::string_view what, std::string_view text) {
  const bool control = std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  boost::json::error_code not_utf8;
  boost::json::parse(boost::json::serialize(boost::json::string(text)), not_utf8);
  if (!control && !not_utf8 && text.size() <= kLongestText) return {};
  return fail(ErrorCode::bad_input,
              concat(what, " must be a single line of UTF-8 text of at most ", kLongestText, " bytes"));
}

Result<void> check_expiry(const std::optional<std::int64_t>& expires_ms, std::int64_t now_ms) {
  if (expired(expires_ms, now_ms)) {
    return fail(ErrorCode::bad_input, "the expiry time is in the past", "choose a time in the future");
  }
  if (expires_ms && *expires_ms - now_ms > kLongestLifeMs) {
    return fail(ErrorCode::bad_input, "the expiry time is more than ten years away", "choose an earlier time");
  }
  return {};
}

Result<void> check_grant(const KeyRequest& request) {
  const bool is_for_bucket = request.scope == Scope::bucket;
  if (is_for_bucket != request.grant.has_value()) {
    return fail(ErrorCode::bad_input, "a key for a bucket needs a bucket, and no other key has one");
  }
  if (!is_for_bucket) return {};
  if (!request.fleet.empty()) {
    return fail(ErrorCode::bad_input, "a key for a bucket cannot belong to a fleet", "omit 'fleet'");
  }
  return check_bucket_grant(*request.grant);
}

Result<void> check_request(const KeyRequest& request, std::int64_t now_ms) {
  if (request.scope == Scope::job) {
    return fail(ErrorCode::bad_input, "job keys cannot be created: attempts get them automatically",
                "choose one of admin, submit, worker, read");
  }
  if (auto good = check_text("a label", request.label); !good) return good;
  if (auto good = check_text("a fleet's name", request.fleet); !good) return good;
  if (auto good = check_text("a worker's name", request.worker); !good) return good;
  if (!request.worker.empty() && request.scope != Scope::worker) {
    return fail(ErrorCode::bad_input, "only a key with scope 'worker' can be bound to a worker",
                "omit 'worker', or use that scope");
  }
  if (auto good = check_grant(request); !good) return good;
  return check_expiry(request.expires_ms, now_ms);
}

Result<void> check_request(const JoinTokenRequest& request, std::int64_t now_ms) {
  if (request.uses == 0 || request.uses > kMostUses) {
    return fail(ErrorCode::bad_input, concat("a join token must allow 1 to ", format_count(kMostUses), " uses"));
  }
  if (request.addresses.empty()) return fail(ErrorCode::bad_input, "a join token needs a server address");
  for (const std::string& address : request.addresses) {
    if (auto good = check_text("an address", address); !good) return good;
  }
  if (auto good = check_text("a fingerprint", request.ca_fingerprint); !good) return good;
  if (auto good = check_text("a fleet's name", request.fleet); !good) return good;
  return check_expiry(request.expires_ms, now_ms);
}

void forget_long_expired(Ring& ring, std::int64_t now_ms) {
  const std::int64_t before_ms = now_ms - kRememberedMs;
  std::erase_if(ring.keys, [&](const auto& it) { return expired(it.second.info.expires_ms, before_ms); });
  std::erase_if(ring.join_tokens, [&](const auto& it) { return expired(it.second.expires_ms, before_ms); });
}

/// A worker has one key.
void forget_keys_of(Ring& ring, const std::string& worker) {
  if (worker.empty()) return;
  std::erase_if(ring.keys, [&](const auto& it) { return it.second.info.worker == worker; });
}

bool lasting_admin(const Key& key) {
  return key.info.scope == Scope::admin && !key.info.expires_ms;
}

Result<Ring> load(const std::string& path) {
  auto text = read_private_file(path);
  if (!text) return pass(text);
  return ring_from_json(text->reveal(), path);
}

Result<void> save(const std::string& path, const Ring& ring) {
  return replace_file(path, ring_to_json(ring).reveal(), Readers::owner);
}

}  // namespace

KeyRing::KeyRing(std::string path, Ring ring)
    : path_(std::move(path)), ring_(std::make_shared<const Ring>(std::move(ring))) {}

std::shared_ptr<const Ring> KeyRing::current() const {
  const std::lock_guard moment(pointer_);
  return ring_;
}

Result<std::unique_ptr<KeyRing>> KeyRing::open(const std::string& path, std::int64_t now_ms) {
  auto ring = load(path);
  if (!ring && ring.error().code == ErrorCode::not_found) {
    ring.emplace();
    ring->server_secret = SecretText(hex(random_bytes(kServerSecretBytes)));
    Key first = new_key(Scope::admin, "first", now_ms);
    ring->keys.emplace(first.info.id, std::move(first));
    if (auto saved = save(path, *ring); !saved) return pass(saved);
  }
  if (!ring) return pass(ring);
  return std::unique_ptr<KeyRing>(new KeyRing(path, std::move(*ring)));
}

Result<void> KeyRing::commit(Ring changed) {
  if (auto saved = save(path_, changed); !saved) return saved;
  auto shown = std::make_shared<const Ring>(std::move(changed));
  const std::lock_guard moment(pointer_);
  ring_.swap(shown);
  return {};
}

Result<Caller> KeyRing::check(std::string_view bearer_token, std::int64_t now_ms) const {
  static const SecretText nobodys = new_secret();
  const auto ring = current();
  if (looks_like_job_key(bearer_token)) {
    auto caller = check_job_key(ring->server_secret, bearer_token, now_ms);
    if (!caller) return caller;
    const auto giver = ring->keys.find(caller->key_id);
    if (giver != ring->keys.end() && !expired(giver->second.info.expires_ms, now_ms)) return caller;
    return fail(ErrorCode::denied,
                concat("the worker that received this key for ", caller->label, " no longer has a valid key itself"),
                "new attempts get a new key");
  }

  const Credential shown = split(bearer_token);
  const auto found = ring->keys.find(shown.id);
  const bool known = found != ring->keys.end();
  const bool right = (known ? found->second.secret : nobodys).equals(shown.secret);
  if (!known || !right) {
    return fail(ErrorCode::denied, "unknown key, or wrong secret",
                "list keys with 'drover key list' on the server's machine");
  }
  const KeyInfo& info = found->second.info;
  if (info.expires_ms && expired(info.expires_ms, now_ms)) {
    return fail(ErrorCode::denied, concat("the key ", info.id, " expired ", how_long_ago(*info.expires_ms, now_ms)),
                "ask for a new one");
  }
  return Caller{.scope = info.scope,
                .key_id = info.id,
                .label = info.label,
                .fleet = info.fleet,
                .worker = info.worker,
                .job = std::nullopt,
                .grant = info.grant};
}

// AWS's clients are told an unknown id from a wrong secret.
FoundSigner KeyRing::signer(std::string_view key_id, std::string_view session_token, std::int64_t now_ms) const {
  const auto ring = current();
  const auto unknown = [] {
    return std::unexpected(NoSigner{false, "The security token included in the request is invalid."});
  };
  std::string giver(key_id);
  std::optional<Signer> session;
  if (!session_token.empty()) {
    auto found = check_session(ring->server_secret, key_id, session_token, now_ms);
    if (!found) return found;
    giver = found->caller.key_id;
    session = std::move(*found);
  }
  const auto key = ring->keys.find(giver);
  if (key == ring->keys.end()) return unknown();
  auto caller = check(key->second.bearer().reveal(), now_ms);
  if (!caller) return std::unexpected(NoSigner{true, std::move(caller.error().message)});
  if (!session) return Signer{std::move(*caller), key->second.secret};
  if (!session->caller.has_session()) session->caller = std::move(*caller);
  session->caller.is_temporary = true;
  return std::move(*session);
}

bool KeyRing::holds(std::string_view key_id, std::int64_t now_ms) const {
  const auto ring = current();
  const auto found = ring->keys.find(key_id);
  return found != ring->keys.end() && !expired(found->second.info.expires_ms, now_ms);
}

void KeyRing::note_use(const std::string& key_id, std::int64_t now_ms) {
  const std::lock_guard moment(using_);
  used_ms_[key_id] = now_ms;
}

std::vector<KeyInfo> KeyRing::list() const {
  const auto ring = current();
  std::vector<KeyInfo> infos;
  for (const auto& [id, key] : ring->keys) infos.push_back(key.info);
  return infos;
}

std::vector<JoinTokenInfo> KeyRing::join_tokens() const {
  const auto ring = current();
  std::vector<JoinTokenInfo> infos;
  for (const auto& [id, token] : ring->join_tokens) {
    infos.push_back({.id = id,
                     .uses_left = token.uses_left,
                     .joined = token.joined.size(),
                     .created_ms = token.created_ms,
                     .expires_ms = token.expires_ms,
                     .fleet = token.fleet,
                     .worker = token.worker});
  }
  return infos;
}

Result<Key> KeyRing::create(const KeyRequest& request, std::int64_t now_ms) {
  if (auto good = check_request(request, now_ms); !good) return pass(good);
  Key key = new_key(request.scope, request.label, now_ms);
  key.info.expires_ms = request.expires_ms;
  key.info.fleet = request.fleet;
  key.info.worker = request.worker;
  key.info.grant = request.grant;

  const std::lock_guard one_at_a_time(changing_);
  Ring changed = *current();
  forget_long_expired(changed, now_ms);
  forget_keys_of(changed, request.worker);
  changed.keys.emplace(key.info.id, key);
  if (auto done = commit(std::move(changed)); !done) return pass(done);
  return key;
}

Result<IssuedJoinToken> KeyRing::create_join_token(const JoinTokenRequest& request, std::int64_t now_ms) {
  if (auto good = check_request(request, now_ms); !good) return pass(good);
  IssuedJoinToken issued;
  issued.id = new_id(kJoinPrefix);
  issued.expires_ms = request.expires_ms.value_or(now_ms + kHourMs);
  const SecretText secret = new_secret();
  issued.text = join_token_text({.addresses = request.addresses,
                                 .ca_fingerprint = request.ca_fingerprint,
                                 .secret = SecretText(concat(issued.id, ".", secret.reveal()))});

  const std::lock_guard one_at_a_time(changing_);
  Ring changed = *current();
  forget_long_expired(changed, now_ms);
  changed.join_tokens.emplace(issued.id, StoredJoinToken{.secret_sha256 = hex(sha256(secret.reveal())),
                                                         .uses_left = request.uses,
                                                         .created_ms = now_ms,
                                                         .expires_ms = issued.expires_ms,
                                                         .fleet = request.fleet,
                                                         .worker = request.worker,
                                                         .joined = {}});
  if (auto done = commit(std::move(changed)); !done) return pass(done);
  return issued;
}

Result<void> KeyRing::remove(const std::string& id) {
  const std::lock_guard one_at_a_time(changing_);
  const auto ring = current();
  const auto found = ring->keys.find(id);
  const bool was_lasting_admin = found != ring->keys.end() && lasting_admin(found->second);
  Ring changed = *ring;
  if (changed.keys.erase(id) + changed.join_tokens.erase(id) == 0) {
    return fail(ErrorCode::not_found, concat("key or join token '", id, "' not found"),
                "list keys and tokens with 'drover key list'");
  }
  if (was_lasting_admin &&
      std::ranges::none_of(changed.keys, [](const auto& it) { return lasting_admin(it.second); })) {
    return fail(ErrorCode::conflict, concat(id, " is the last admin key that does not expire"),
                "create another one first: without one, keys can no longer be changed");
  }
  return commit(std::move(changed));
}

Result<Key> KeyRing::join(std::string_view token_secret, const std::string& nonce, const std::string& worker_name,
                          std::int64_t now_ms) {
  constexpr const char* next = "create a new join token with 'drover key join' on the server's machine";
  static const std::string nobodys = hex(sha256(new_secret().reveal()));
  const Credential shown = split(token_secret);
  const SecretText shown_hash(hex(sha256(shown.secret)));

  const std::lock_guard one_at_a_time(changing_);
  const auto ring = current();
  const auto found = ring->join_tokens.find(shown.id);
  const bool known = found != ring->join_tokens.end();
  const bool right = shown_hash.equals(known ? found->second.secret_sha256 : nobodys);
  if (!known || !right) return fail(ErrorCode::denied, "unknown join token", next);

  const auto& [id, token] = *found;
  if (expired(token.expires_ms, now_ms)) {
    return fail(ErrorCode::denied, concat("the join token ", id, " expired ", how_long_ago(token.expires_ms, now_ms)),
                next);
  }
  if (const auto before = token.joined.find(nonce); before != token.joined.end()) {
    const auto key = ring->keys.find(before->second);
    if (key != ring->keys.end()) return key->second;
    return fail(ErrorCode::denied, concat("the key ", before->second, " of this worker was removed"), next);
  }
  if (token.uses_left == 0) {
    return fail(
        ErrorCode::denied,
        concat("the join token ", id, " is used up: ", plural(token.joined.size(), "worker"), " joined with it"), next);
  }
  if (auto good = check_text("a nonce", nonce); !good) return pass(good);
  if (auto good = check_text("a worker's name", worker_name); !good) return pass(good);
  if (worker_name.empty()) return fail(ErrorCode::bad_input, "a joining worker needs a name");
  if (!token.worker.empty() && token.worker != worker_name) {
    return fail(ErrorCode::denied, concat("the join token ", id, " is for worker '", token.worker, "' alone"), next);
  }
  if (nonce.size() < kShortestNonce) {
    return fail(ErrorCode::bad_input, concat("a nonce must have at least ", kShortestNonce, " bytes"));
  }

  Key key = new_key(Scope::worker, worker_name, now_ms);
  key.info.fleet = token.fleet;
  key.info.worker = worker_name;
  Ring changed = *ring;
  forget_long_expired(changed, now_ms);
  forget_keys_of(changed, worker_name);
  StoredJoinToken& spent = changed.join_tokens.at(id);
  --spent.uses_left;
  spent.joined.emplace(nonce, key.info.id);
  changed.keys.emplace(key.info.id, key);
  if (auto done = commit(std::move(changed)); !done) return pass(done);
  return key;
}

Result<std::vector<std::string>> KeyRing::sweep(std::int64_t now_ms) {
  std::map<std::string, std::int64_t> used_ms;
  {
    const std::lock_guard moment(using_);
    used_ms.swap(used_ms_);
  }
  const std::lock_guard one_at_a_time(changing_);
  Ring changed = *current();
  bool differs = false;
  for (auto& [id, key] : changed.keys) {
    const auto used = used_ms.find(id);
    if (key.info.worker.empty() || used == used_ms.end() || used->second - key.info.used_ms < kDayMs) continue;
    key.info.used_ms = used->second;
    differs = true;
  }
  const std::size_t before = changed.keys.size() + changed.join_tokens.size();
  std::vector<std::string> gone;
  for (const auto& [id, key] : changed.keys) {
    const std::int64_t last_ms = std::max(key.info.created_ms, key.info.used_ms);
    if (!key.info.worker.empty() && last_ms < now_ms - kGoneMs) gone.push_back(id);
  }
  for (const std::string& id : gone) changed.keys.erase(id);
  forget_long_expired(changed, now_ms);
  if (!differs && changed.keys.size() + changed.join_tokens.size() == before) return gone;
  if (auto done = commit(std::move(changed)); !done) return pass(done);
  return gone;
}

SecretText KeyRing::job_key(const Uuid& job, std::string_view giver, std::int64_t expires_ms) const {
  return make_job_key(current()->server_secret, job, giver, expires_ms);
}

SecretText KeyRing::attempts_key(const Uuid& job, std::string_view giver, std::int64_t expires_ms) const {
  return make_attempts_key(current()->server_secret, job, giver, expires_ms);
}

std::string KeyRing::server_id() const {
  constexpr std::size_t kDigits = 16;
  return hex(hmac_sha256(current()->server_secret.reveal(), "server id")).substr(0, kDigits);
}

SessionCredentials KeyRing::new_session(const AwsSession& session) const {
  return make_session(current()->server_secret, session);
}

Result<Key> read_admin_key(const std::string& path, std::int64_t now_ms) {
  auto ring = load(path);
  if (!ring) return pass(ring);
  for (const auto& [id, key] : ring->keys) {
    if (key.info.scope == Scope::admin && !expired(key.info.expires_ms, now_ms)) return key;
  }
  return fail(ErrorCode::not_found, concat(path, " contains no admin key that has not expired"));
}

}  // namespace drover
