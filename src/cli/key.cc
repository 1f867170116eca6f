// drover key: who may ask a server for what.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/units.h"
#include "cli/print.h"
#include "cli/server_client.h"

namespace drover {
namespace json = boost::json;
namespace {

struct KeyFlags {
  CommonFlags common;
  ServerFlags server;
  std::string scope;
  std::string label;
  std::string expires;
  std::string fleet;
  std::string bucket;
  std::string prefix;
  std::string access;
  std::string id;
  std::uint64_t uses = 1;
};

std::string_view text(const json::value& object, const char* name) {
  return object.at(name).as_string();
}

Result<int> create_key(const KeyFlags& flags, const std::string& path, const json::object& body) {
  auto client = ServerClient::connect(flags.common, flags.server);
  if (!client) return pass(client);
  auto made = client->post(path, body);
  if (!made) return pass(made);
  if (flags.common.json) {
    show("{}\n", json::serialize(*made));
  } else {
    show("{}\n", text(*made, "token"));
    if (!flags.common.quiet) print_notice("the secret is shown only once; store it like a password");
  }
  return kAllSucceeded;
}

Result<json::object> wanted_key(const KeyFlags& flags) {
  json::object body{{"label", flags.label}};
  if (!flags.expires.empty()) body["expires"] = flags.expires;
  if (!flags.fleet.empty()) body["fleet"] = flags.fleet;
  if (!flags.bucket.empty()) {
    if (flags.access.empty()) {
      return fail(ErrorCode::bad_input, "--bucket requires --access", "add --access read, write or read-write");
    }
    body["bucket"] = flags.bucket;
    body["prefix"] = flags.prefix;
    body["access"] = flags.access;
    return body;
  }
  if (!flags.prefix.empty() || !flags.access.empty()) {
    return fail(ErrorCode::bad_input, "--prefix and --access require --bucket",
                "add the bucket that the key is for, or omit them");
  }
  if (flags.scope.empty()) {
    return fail(ErrorCode::bad_input, "--scope or --bucket is required",
                "choose a scope of admin, submit, worker or read; or name the bucket that the key is for");
  }
  body["scope"] = flags.scope;
  return body;
}

/// "photos/in/* read" of a key for a bucket.
std::string grant_of(const json::value& key) {
  const std::string_view bucket = text(key, "bucket");
  return bucket.empty() ? std::string() : fmt::format("{}/{}* {}", bucket, text(key, "prefix"), text(key, "access"));
}

Result<int> list_keys(const KeyFlags& flags) {
  auto client = ServerClient::connect(flags.common, flags.server);
  if (!client) return pass(client);
  auto answer = client->get("/api/v1/keys");
  if (!answer) return pass(answer);
  if (flags.common.json) {
    show("{}\n", json::serialize(*answer));
    return kAllSucceeded;
  }
  show("{:<20}  {:<8}  {}\n", "ID", "SCOPE", "LABEL");
  for (const json::value& key : answer->at("keys").as_array()) {
    const std::string grant = grant_of(key);
    show("{:<20}  {:<8}  {}{}{}\n", text(key, "id"), text(key, "scope"), grant,
         grant.empty() || text(key, "label").empty() ? "" : "  ", text(key, "label"));
  }
  for (const json::value& token : answer->at("join_tokens").as_array()) {
    show("{:<20}  {:<8}  {} left\n", text(token, "id"), "join",
         plural(token.at("uses_left").to_number<std::uint64_t>(), "use"));
  }
  return kAllSucceeded;
}

Result<int> remove_key(const KeyFlags& flags) {
  auto client = ServerClient::connect(flags.common, flags.server);
  if (!client) return pass(client);
  if (auto removed = client->remove("/api/v1/keys/" + url_escape(flags.id)); !removed) return pass(removed);
  if (flags.common.json) {
    show("{}\n", json::serialize(json::object{{"id", flags.id}, {"deleted", true}}));
  } else if (!flags.common.quiet) {
    show("{} is deleted and no longer accepted\n", flags.id);
  }
  return kAllSucceeded;
}

}  // namespace

void add_key(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<KeyFlags>();
  Verb verb = app.add_subcommand("key", "Create, list and delete a server's keys");
  verb.require_subcommand(1);
  verb.footer(
      "Examples:\n  drover key create --scope submit --label ci\n  drover key create --bucket photos --prefix in/ "
      "--access write\n"
      "  drover key join --uses 10 --expires 1h\n"
      "  drover key list\n  drover key delete AKDR…");
  const auto add = [&](const char* name, const char* help, const char* example, auto run) {
    Verb it = verb.add_subcommand(name, help);
    it.footer(std::string("Example:\n  ") + example);
    add_common_flags(it, flags->common);
    add_server_flag(it, flags->server);
    it.callback([flags, run, &invocation] {
      auto done = run(*flags);
      invocation.exit_status = done ? *done : failure(done.error());
    });
    return it;
  };
  Verb creating = add("create", "Create a key", "drover key create --scope submit --label ci", [](const KeyFlags& it) {
    auto body = wanted_key(it);
    if (!body) return Result<int>(pass(body));
    return create_key(it, "/api/v1/keys", *body);
  });
  creating.add_option("--scope", flags->scope, "Scope of the key")
      .type_name("SCOPE")
      .one_of({"admin", "submit", "worker", "read"});
  creating.add_option("--bucket", flags->bucket, "Bucket that the key is for; the key allows nothing else")
      .type_name("BUCKET")
      .excludes("--scope");
  creating
      .add_option("--prefix", flags->prefix,
                  "With --bucket: prefix that the keys of objects begin with (default: all objects)")
      .type_name("PREFIX");
  creating.add_option("--access", flags->access, "With --bucket: what the key allows there")
      .type_name("ACCESS")
      .one_of({"read", "write", "read-write"});
  creating.add_option("--label", flags->label, "Label of the key, shown as the owner of its jobs").type_name("TEXT");
  Verb joining = add("join", "Create a token that lets machines join as workers",
                     "drover key join --uses 10 --expires 1h", [](const KeyFlags& it) {
                       json::object body{{"uses", it.uses}, {"fleet", it.fleet}};
                       if (!it.expires.empty()) body["expires"] = it.expires;
                       return create_key(it, "/api/v1/join-tokens", body);
                     });
  joining.add_option("--uses", flags->uses, "Number of machines that can join with the token (default: 1)")
      .type_name("N");
  for (Verb it : {creating, joining}) {
    it.add_option("--expires", flags->expires, "Time until it expires, such as 1h").type_name("TIME");
    it.add_option("--fleet", flags->fleet, "Fleet that its workers belong to").type_name("FLEET");
  }
  add("list", "List keys and join tokens, without their secrets", "drover key list", list_keys);
  add("delete", "Delete a key or a join token", "drover key delete AKDR…", remove_key)
      .add_option("id", flags->id, "Id of the key or join token")
      .type_name("ID")
      .required();
}

}  // namespace drover
