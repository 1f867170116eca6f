// The server's keys: one file, held in memory, changed only after the change is on the disk. Readers look at a ring
// that never changes, and a change puts another in its place: a check never waits for a disk, and checks without end do
// not keep a change from its turn. Expired keys and join tokens are kept for a week, so that whoever comes with one is
// told why it is refused.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "keys/caller.h"
#include "keys/key.h"
#include "keys/ring_file.h"
#include "keys/secret_text.h"
#include "keys/session.h"
#include "keys/signer.h"

namespace drover {

/// The ring's name in the server's folder.
inline constexpr std::string_view kKeyRingFile = "keys.json";

/// A worker that was not heard of for so long has no key any more: thirty days.
inline constexpr std::int64_t kGoneMs = std::int64_t{30} * 24 * 3'600'000;

struct KeyRequest {
  Scope scope = Scope::read;  // any but `job`
  std::string label;
  std::optional<std::int64_t> expires_ms;
  std::string fleet;
  std::string worker;  // of a worker's key: the only one that may use it. It takes the place of the one that it had
  std::optional<BucketGrant> grant = {};  // with the scope `bucket`
};

struct JoinTokenRequest {
  std::uint64_t uses = 1;
  std::optional<std::int64_t> expires_ms;  // nothing: in an hour
  std::string fleet;
  std::string worker = {};             // for a worker of this name alone; empty: for any
  std::vector<std::string> addresses;  // of the server, as workers reach it
  std::string ca_fingerprint;          // empty: plain HTTP
};

struct IssuedJoinToken {
  std::string id;
  std::int64_t expires_ms = 0;
  SecretText text;  // "drover-join-…", to be shown once
};

/// All of a join token that may be shown.
struct JoinTokenInfo {
  std::string id;  // "JNDR" and 16 of A-Z2-7
  std::uint64_t uses_left = 0;
  std::uint64_t joined = 0;
  std::int64_t created_ms = 0;
  std::int64_t expires_ms = 0;
  std::string fleet;
  std::string worker;  // for whom alone it is good; empty: for anybody

  bool operator==(const JoinTokenInfo&) const = default;
};

/// All of it may be called from any thread. One process at a time, which whoever holds the folder's lock sees to.
class KeyRing {
 public:
  /// Makes the file, with one admin key, if there is none. Refuses one that others can read.
  static Result<std::unique_ptr<KeyRing>> open(const std::string& path, std::int64_t now_ms);

  /// Who shows this "ID.SECRET" or job key; `denied` if nobody of ours. An unknown id takes as long, and reads the
  /// same, as a wrong secret.
  Result<Caller> check(std::string_view bearer_token, std::int64_t now_ms) const;

  /// Whose secret a request was signed with, as it claims: that of a key, or with a session token that of a session.
  FoundSigner signer(std::string_view key_id, std::string_view session_token, std::int64_t now_ms) const;

  /// Whether it is there and has not expired. For who has been waiting since check().
  bool holds(std::string_view key_id, std::int64_t now_ms) const;
  /// A worker works with this key. Written down with the next sweep().
  void note_use(const std::string& key_id, std::int64_t now_ms);

  std::vector<KeyInfo> list() const;
  std::vector<JoinTokenInfo> join_tokens() const;

  // These wait for the disk.
  Result<Key> create(const KeyRequest& request, std::int64_t now_ms);
  Result<IssuedJoinToken> create_join_token(const JoinTokenRequest& request, std::int64_t now_ms);
  /// A key, or a join token; the keys that one gave stay. The last admin key which does not expire stays too.
  Result<void> remove(const std::string& id);
  /// Gives a worker its key, for the "ID.SECRET" of a join token. The same nonce gives the same key, and no further use
  /// is spent: a worker that did not hear the answer asks again. The key is for a worker of that name alone, and takes
  /// the place of the one that it had.
  Result<Key> join(std::string_view token_secret, const std::string& nonce, const std::string& worker_name,
                   std::int64_t now_ms);

  /// Removes the keys of workers that joined and have not been heard of for kGoneMs, and what expired long ago. From
  /// time to time, and not before those that are there have had the time to come back. The ids of keys that are gone.
  Result<std::vector<std::string>> sweep(std::int64_t now_ms);

  /// For the environment of a job's attempts on the worker that asks with the key `giver`. Stored nowhere; check()
  /// knows it for as long as it knows that key.
  SecretText job_key(const Uuid& job, std::string_view giver, std::int64_t expires_ms) const;
  /// For the worker itself, to make the credentials of the job's attempts with; signer() knows those as long.
  SecretText attempts_key(const Uuid& job, std::string_view giver, std::int64_t expires_ms) const;
  /// The same for as long as the server has its keys, and no other server's. It is no secret.
  std::string server_id() const;
  /// For who has assumed a role, or asked for a session; good as long as the giver's key.
  SessionCredentials new_session(const AwsSession& session) const;

 private:
  KeyRing(std::string path, Ring ring);
  std::shared_ptr<const Ring> current() const;
  /// Writes a changed ring to the disk and only then shows it to readers. Under `changing_`.
  Result<void> commit(Ring changed);

  const std::string path_;
  std::mutex using_;  // guards used_ms_
  std::map<std::string, std::int64_t> used_ms_;
  std::mutex changing_;         // held by whoever changes the ring, while the disk works
  mutable std::mutex pointer_;  // held for the moment in which `ring_` is copied or exchanged
  std::shared_ptr<const Ring> ring_;
};

/// For a program on the server's machine and of its user: an admin key out of the ring's file.
Result<Key> read_admin_key(const std::string& path, std::int64_t now_ms);

}  // namespace drover
