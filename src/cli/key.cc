// drover key: who may ask a server for what.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/units.h"
#include "cli/print.h"
#include "cli/server_client.h"

namespace drover {
namespace json = boost::json;
namespace {

struct Flags {
  CommonFlags common;
  ServerFlags server;
  std::string scope;
  std::string label;
  std::string expires;
  std::string fleet;
  std::string id;
  std::uint64_t uses = 1;
};

std::string_view text(const json::value& object, const char* name) {
  return object.at(name).as_string();
}

Result<int> create(const Flags& flags, const std::string& path, const json::object& body) {
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

Result<int> list(const Flags& flags) {
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
    show("{:<20}  {:<8}  {}\n", text(key, "id"), text(key, "scope"), text(key, "label"));
  }
  for (const json::value& token : answer->at("join_tokens").as_array()) {
    show("{:<20}  {:<8}  {} left\n", text(token, "id"), "join",
         plural(token.at("uses_left").to_number<std::uint64_t>(), "use"));
  }
  return kAllSucceeded;
}

Result<int> remove(const Flags& flags) {
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
  auto flags = std::make_shared<Flags>();
  Verb verb = app.add_subcommand("key", "Create, list and delete a server's keys");
  verb.require_subcommand(1);
  verb.footer(
      "Examples:\n  drover key create --scope submit --label ci\n  drover key join --uses 10 --expires 1h\n"
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
  Verb creating = add("create", "Create a key", "drover key create --scope submit --label ci", [](const Flags& it) {
    json::object body{{"scope", it.scope}, {"label", it.label}, {"fleet", it.fleet}};
    if (!it.expires.empty()) body["expires"] = it.expires;
    return create(it, "/api/v1/keys", body);
  });
  creating.add_option("--scope", flags->scope, "Scope of the key")
      .type_name("SCOPE")
      .required()
      .one_of({"admin", "submit", "worker", "read"});
  creating.add_option("--label", flags->label, "Label of the key, shown as the owner of its jobs").type_name("TEXT");
  Verb joining = add("join", "Create a token that lets machines join as workers",
                     "drover key join --uses 10 --expires 1h", [](const Flags& it) {
                       json::object body{{"uses", it.uses}, {"fleet", it.fleet}};
                       if (!it.expires.empty()) body["expires"] = it.expires;
                       return create(it, "/api/v1/join-tokens", body);
                     });
  joining.add_option("--uses", flags->uses, "Number of machines that can join with the token (default: 1)")
      .type_name("N");
  for (Verb it : {creating, joining}) {
    it.add_option("--expires", flags->expires, "Time until it expires, such as 1h").type_name("TIME");
    it.add_option("--fleet", flags->fleet, "Fleet that its workers belong to").type_name("FLEET");
  }
  add("list", "List keys and join tokens, without their secrets", "drover key list", list);
  add("delete", "Delete a key or a join token", "drover key delete AKDR…", remove)
      .add_option("id", flags->id, "Id of the key or join token")
      .type_name("ID")
      .required();
}

}  // namespace drover
