// drover env-vars: what to export so that the AWS CLI, SDKs and drover itself reach a server from this shell.
#include <boost/json.hpp>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/print.h"
#include "cli/server_client.h"
#include "wire/session_credentials.h"

namespace drover {
namespace {

struct EnvVarsFlags {
  CommonFlags common;
  ServerFlags server;
  std::string shell;
};

using Variables = std::vector<std::pair<std::string, std::string>>;

Variables variables_for(const ServerAccess& access) {
  Variables out{{"DROVER_SERVER", access.address}, {"DROVER_KEY", access.token}};
  const bool has_authority = access.address.starts_with("https://") && !access.ca_file.empty();
  if (has_authority) out.emplace_back("DROVER_CA", access.ca_file);
  const std::size_t dot = access.token.find('.');
  // AWS tools speak to hosts, not to sockets of this machine, and take a key in two parts.
  if (access.address.starts_with("unix:") || dot == std::string::npos) return out;
  out.emplace_back("AWS_ENDPOINT_URL", access.address);
  out.emplace_back("AWS_ACCESS_KEY_ID", access.token.substr(0, dot));
  out.emplace_back("AWS_SECRET_ACCESS_KEY", access.token.substr(dot + 1));
  out.emplace_back("AWS_REGION", kAwsRegion);
  out.emplace_back("AWS_DEFAULT_REGION", kAwsRegion);
  if (has_authority) out.emplace_back("AWS_CA_BUNDLE", access.ca_file);
  return out;
}

/// In single quotes, where nothing but the quote means anything (and in fish the backslash).
std::string quoted(std::string_view text, bool fish) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += fish ? "\\'" : "'\\''";
    } else if (c == '\\' && fish) {
      out += "\\\\";
    } else {
      out += c;
    }
  }
  return out + "'";
}

bool is_fish(const std::string& shell) {
  if (!shell.empty()) return shell == "fish";
  const char* login = std::getenv("SHELL");
  return login != nullptr && std::filesystem::path(login).filename() == "fish";
}

Result<int> print_variables(const EnvVarsFlags& flags) {
  auto access = find_server(flags.common, flags.server);
  if (!access) return pass(access);
  const Variables variables = variables_for(*access);
  if (flags.common.json) {
    boost::json::object out;
    for (const auto& [name, value] : variables) out[name] = value;
    show("{}\n", boost::json::serialize(out));
    return kAllSucceeded;
  }
  const bool fish = is_fish(flags.shell);
  // What is left of another account would be sent along, and refused.
  show("{} AWS_SESSION_TOKEN{}\n", fish ? "set -e" : "unset", fish ? "; or true" : "");
  for (const auto& [name, value] : variables) {
    show("{} {}{}{}\n", fish ? "set -gx" : "export", name, fish ? " " : "=", quoted(value, fish));
  }
  return kAllSucceeded;
}

}  // namespace

void add_env_vars(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<EnvVarsFlags>();
  Verb verb = app.add_subcommand(
      "env-vars", "Print environment variables that let drover, the AWS CLI and other programs reach a server");
  verb.add_option("--data", flags->common.data, "Data folder of the server on this machine").type_name("DIR");
  verb.add_flag("--json", flags->common.json, "Print machine-readable JSON");
  add_server_flag(verb, flags->server);
  verb.add_option("--shell", flags->shell, "Shell syntax to print (default: from $SHELL)")
      .type_name("SHELL")
      .one_of({"bash", "fish"});
  verb.footer("Examples:\n  eval \"$(drover env-vars)\"\n  drover env-vars --shell fish | source");
  verb.callback([flags, &invocation] {
    auto done = print_variables(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
