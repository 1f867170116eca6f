#include "net/registry_rules.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "wire/image_reference.h"

namespace drover {
namespace {

constexpr std::array<std::string_view, 6> kUsual = {"docker.io",      "ghcr.io", "quay.io",
                                                    "public.ecr.aws", "gcr.io",  "registry.k8s.io"};
constexpr std::string_view kPlain = "http://";
constexpr std::string_view kEncrypted = "https://";

/// "host", "host:5000", "[::1]:5000" with the port always there.
std::string with_port(std::string_view host, std::string_view scheme) {
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos;
  return in_small_letters(has_port ? host : concat(host, scheme == "http" ? ":80" : ":443"));
}

}  // namespace

std::string registry_endpoint(std::string_view host) {
  return host == "docker.io" ? "registry-1.docker.io" : std::string(host);
}

RegistryRules RegistryRules::usual() {
  RegistryRules out;
  for (const std::string_view host : kUsual) out.rules_.push_back({.host = std::string(host)});
  return out;
}

Result<RegistryRules> RegistryRules::parse(const std::vector<std::string>& names) {
  RegistryRules out;
  if (names == std::vector<std::string>{"none"}) return out;
  for (const std::string& name : names) {
    std::string_view host = name;
    RegistryRule rule{.host = {}, .was_named = true};
    if (host.starts_with(kPlain)) {
      rule.security = RegistryRule::Security::plain;
      host.remove_prefix(kPlain.size());
    } else if (host.starts_with(kEncrypted)) {
      host.remove_prefix(kEncrypted.size());
    }
    // As the name of an image reads it.
    const auto image = ImageReference::parse(concat(host, "/x"));
    if (!image || image->host != host || !image->name.ends_with("x") || !image->tag.ends_with("latest")) {
      return fail(
          ErrorCode::bad_input, concat("'", name, "' is not a valid registry"),
          "write HOST or HOST:PORT, or http://HOST:PORT for a registry without TLS; use 'none' alone for no registry");
    }
    rule.host = image->host;
    out.add(std::move(rule));
  }
  return out;
}

void RegistryRules::add(RegistryRule rule) {
  std::erase_if(rules_, [&](const RegistryRule& it) { return it.host == rule.host; });
  rules_.push_back(std::move(rule));
}

void RegistryRules::do_not_verify(const std::vector<std::string>& hosts) {
  for (RegistryRule& rule : rules_) {
    if (rule.security == RegistryRule::Security::tls && std::ranges::find(hosts, rule.host) != hosts.end()) {
      rule.security = RegistryRule::Security::unverified;
    }
  }
}

const RegistryRule* RegistryRules::find(std::string_view host) const {
  const auto found = std::ranges::find(rules_, host, &RegistryRule::host);
  return found == rules_.end() ? nullptr : &*found;
}

bool RegistryRules::names(std::string_view scheme, std::string_view host, std::string_view port) const {
  const std::string place = in_small_letters(concat(host, ":", port));
  return std::ranges::any_of(rules_, [&](const RegistryRule& rule) {
    if (!rule.was_named || (scheme == "http" && !rule.allows_plain_http())) return false;
    return with_port(registry_endpoint(rule.host), scheme) == place;
  });
}

}  // namespace drover
