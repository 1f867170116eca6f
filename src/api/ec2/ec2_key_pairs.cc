#include <algorithm>

#include "api/ec2/ec2.h"
#include "keys/key_pair.h"

namespace drover::aws {

namespace json = boost::json;

const Ec2Api::Kind Ec2Api::kKeyPairs{
    .type = "key-pair",
    .prefix = "key-",
    .documents = "ec2.key-pair",
    .list = "KeyPairs",
    .id = {"KeyPairIds", "KeyPairId", "InvalidKeyPair.NotFound"},
    .name = {"KeyNames", "KeyName", "InvalidKeyPair.NotFound"},
    .filters = {{"key-pair-id", "KeyPairId"}, {"key-name", "KeyName"}, {"fingerprint", "KeyFingerprint"}}};

void Ec2Api::serve_key_pairs() {
  on_edit("CreateKeyPair", &Ec2Api::create_key_pair);
  on_edit("ImportKeyPair", &Ec2Api::import_key_pair);
  on_edit("DeleteKeyPair", &Ec2Api::delete_key_pair);
  on_read("DescribeKeyPairs", &Ec2Api::describe_key_pairs);
}

/// What a new one has, whether it is created or imported; a fault if the request cannot make it.
Ec2Api::Found<json::object> Ec2Api::new_key_pair(const Call& call) const {
  const std::string_view name = member_text(call.input, "KeyName");
  if (std::ranges::any_of(name, [](unsigned char c) { return c < 0x20 || c >= 0x7F; })) {
    return failed("InvalidParameterValue", "KeyName must have printable ASCII characters only");
  }
  auto known = find(kKeyPairs, call, kKeyPairs.name, name);
  if (!known) return std::unexpected(std::move(known.error()));
  if (*known) return failed("InvalidKeyPair.Duplicate", concat("The keypair '", name, "' already exists."));
  auto tags = tags_in(kKeyPairs, call);
  if (!tags) return std::unexpected(std::move(tags.error()));
  json::object out{{"KeyName", name}, {"KeyPairId", new_ec2_id(kKeyPairs.prefix)}, {"CreateTime", now_ms_()}};
  if (!tags->empty()) out["Tags"] = std::move(*tags);
  return out;
}

namespace {

/// Only the public key is kept.
Edit add_key_pair(const Documents& key_pairs, json::object pair, const PublicKey& key, std::string_view fingerprint) {
  pair["KeyFingerprint"] = fingerprint;
  json::object output = pair;
  output.erase("CreateTime");
  pair["KeyType"] = key.type == KeyPairType::rsa ? "rsa" : "ed25519";
  pair["PublicKey"] = concat(key.text, " ", member_text(pair, "KeyName"));
  return {{key_pairs.add(std::string(member_text(pair, "KeyName")), pair)}, std::move(output)};
}

}  // namespace

EditOutcome Ec2Api::create_key_pair(const Call& call) const {
  auto pair = new_key_pair(call);
  if (!pair) return std::unexpected(std::move(pair.error()));
  const bool is_ed25519 = member_text(call.input, "KeyType") == "ed25519";
  auto made = make_key_pair(is_ed25519 ? KeyPairType::ed25519 : KeyPairType::rsa);
  if (!made) return std::unexpected(fault(made.error()));
  Edit edit = add_key_pair(documents(kKeyPairs), std::move(*pair), made->public_key, made->fingerprint);
  edit.output["KeyMaterial"] = made->private_pem.reveal();
  return edit;
}

EditOutcome Ec2Api::import_key_pair(const Call& call) const {
  auto pair = new_key_pair(call);
  if (!pair) return std::unexpected(std::move(pair.error()));
  const auto key = read_public_key(member_text(call.input, "PublicKeyMaterial"));
  if (!key) return failed("InvalidKey.Format", key.error().message);
  return add_key_pair(documents(kKeyPairs), std::move(*pair), *key, key->fingerprint);
}

// As in AWS, deleting one that does not exist succeeds.
EditOutcome Ec2Api::delete_key_pair(const Call& call) const {
  auto pair = chosen(kKeyPairs, call);
  if (pair) return Edit{{documents(kKeyPairs).remove(*pair)}};
  if (pair.error().code == kKeyPairs.id.not_found) return Edit{};
  return std::unexpected(std::move(pair.error()));
}

Outcome Ec2Api::describe_key_pairs(const Call& call) const {
  auto all = all_of(kKeyPairs, call);
  if (!all) return std::unexpected(std::move(all.error()));
  const json::value* asked = call.input.if_contains("IncludePublicKey");
  const bool is_asked = asked != nullptr && asked->get_bool();
  json::array shown;
  for (Stored& it : *all) {
    if (!is_asked) it.value.erase("PublicKey");
    shown.push_back(std::move(it.value));
  }
  return describe(kKeyPairs, call, std::move(shown));
}

}  // namespace drover::aws
