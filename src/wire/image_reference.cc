#include "wire/image_reference.h"

#include <algorithm>

#include "base/text.h"

namespace drover {
namespace {

constexpr std::string_view kDockerHub = "docker.io";
constexpr std::string_view kDigestBegin = "sha256:";
constexpr std::size_t kDigestDigits = 64;
constexpr std::size_t kMostName = 255;
constexpr std::size_t kMostTag = 128;
constexpr std::string_view kForms =
    "write NAME:TAG, NAME@sha256:…, oci:PATH, docker-archive:PATH, docker-daemon:NAME or rootfs:PATH";

using Source = ImageReference::Source;

struct Transport {
  Source source;
  std::string_view prefix;
};
constexpr Transport kTransports[] = {
    {Source::oci_layout, "oci:"},
    {Source::docker_archive, "docker-archive:"},
    {Source::docker_daemon, "docker-daemon:"},
    {Source::root_folder, "rootfs:"},
};

bool is_small(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_large(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}

std::unexpected<Error> refuse(std::string_view text, std::string_view why, std::string_view next = kForms) {
  return fail(ErrorCode::bad_input, concat("image '", text, "': ", why), std::string(next));
}

bool is_tag(std::string_view tag) {
  if (tag.empty() || tag.size() > kMostTag || tag.front() == '.' || tag.front() == '-') return false;
  return std::ranges::all_of(
      tag, [](char c) { return is_small(c) || is_large(c) || is_digit(c) || c == '_' || c == '.' || c == '-'; });
}

/// Small letters and digits, with single dots, one or two underscores, or dashes between them.
bool is_name_component(std::string_view word) {
  if (word.empty()) return false;
  bool alphanumeric = false;  // what came last
  for (std::size_t at = 0; at < word.size();) {
    if (is_small(word[at]) || is_digit(word[at])) {
      alphanumeric = true;
      ++at;
      continue;
    }
    if (!alphanumeric) return false;
    const std::size_t end = std::min(word.find_first_not_of(word[at], at), word.size());
    const std::size_t run = end - at;
    if (word[at] == '.' ? run > 1 : word[at] == '_' ? run > 2 : word[at] != '-') return false;
    alphanumeric = false;
    at = end;
  }
  return alphanumeric;
}

bool is_port(std::string_view word) {
  return !word.empty() && word.size() <= 5 && std::ranges::all_of(word, is_digit);
}

bool is_host_word(std::string_view word) {
  if (word.empty() || word.front() == '-' || word.back() == '-') return false;
  return std::ranges::all_of(word, [](char c) { return is_small(c) || is_large(c) || is_digit(c) || c == '-'; });
}

bool is_host(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos || end < 3) return false;
    const std::string_view rest = host.substr(end + 1);
    return std::ranges::all_of(host.substr(1, end - 1), [](char c) { return is_hex(c) || is_large(c) || c == ':'; }) &&
           (rest.empty() || (rest.front() == ':' && is_port(rest.substr(1))));
  }
  if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
    if (!is_port(host.substr(colon + 1))) return false;
    host = host.substr(0, colon);
  }
  while (true) {
    const std::size_t dot = host.find('.');
    if (!is_host_word(host.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    host.remove_prefix(dot + 1);
  }
}

/// What comes before the first slash is a registry if it cannot be the beginning of a name.
bool looks_like_host(std::string_view word) {
  return word == "localhost" || word.find_first_of(".:[") != std::string_view::npos ||
         std::ranges::any_of(word, is_large);
}

/// Takes "@sha256:…" off the end.
Result<std::string> take_digest(std::string_view whole, std::string_view& rest) {
  const std::size_t at = rest.rfind('@');
  if (at == std::string_view::npos) return std::string();
  const std::string_view digest = rest.substr(at + 1);
  if (!is_image_digest(digest)) {
    if (digest.starts_with("sha512:") || digest.starts_with("sha384:")) {
      return refuse(whole, "only sha256 digests are supported", "use its sha256 digest, or a tag");
    }
    return refuse(whole, "the part after @ is not a digest",
                  "a digest is sha256: followed by 64 hexadecimal digits (0-9, a-f)");
  }
  rest = rest.substr(0, at);
  return std::string(digest);
}

/// [HOST/]NAME[:TAG] into `out`.
Result<void> take_name(std::string_view whole, std::string_view text, ImageReference& out) {
  if (text.empty()) return refuse(whole, "the name is missing");
  std::string_view rest = text;
  out.host = kDockerHub;
  bool host_said = false;
  if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
    const std::string_view first = rest.substr(0, slash);
    if (looks_like_host(first)) {
      if (first.find_first_of(".:[") == std::string_view::npos && std::ranges::any_of(first, is_large)) {
        return refuse(whole, "image names must be lower case",
                      concat("did you mean ", in_small_letters(rest), "? To name a registry, add its port: ", first,
                             ":443", rest.substr(slash)));
      }
      if (!is_host(first)) return refuse(whole, concat("'", first, "' is not a valid registry name"));
      host_said = true;
      out.host = first == "index.docker.io" ? kDockerHub : first;
      rest.remove_prefix(slash + 1);
    }
  }
  const std::size_t slash = rest.rfind('/');
  const std::size_t colon = rest.find(':', slash == std::string_view::npos ? 0 : slash);
  if (colon != std::string_view::npos) {
    const std::string_view tag = rest.substr(colon + 1);
    if (!is_tag(tag)) {
      return refuse(whole, concat("'", tag, "' is not a valid tag"),
                    "use up to 128 letters, digits, dots, dashes and underscores");
    }
    out.tag = tag;
    rest = rest.substr(0, colon);
  }
  if (rest.find("//") != std::string_view::npos || rest.empty() || rest.starts_with('/') || rest.ends_with('/')) {
    return refuse(whole, "part of its name is empty");
  }
  if (std::ranges::any_of(rest, is_large)) {
    return refuse(whole, "image names must be lower case", concat("did you mean ", in_small_letters(rest), "?"));
  }
  for (std::string_view left = rest; !left.empty();) {
    const std::size_t end = std::min(left.find('/'), left.size());
    if (!is_name_component(left.substr(0, end))) {
      return refuse(whole, concat("'", left.substr(0, end), "' is not valid in a name"),
                    "use lower-case letters and digits, with . _ or - between them");
    }
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  if (!host_said && rest.size() == kDigestDigits && std::ranges::all_of(rest, is_hex)) {
    return refuse(whole, "this is an image id, not a name", "use NAME:TAG or NAME@sha256:…");
  }
  const bool official = out.host == kDockerHub && rest.find('/') == std::string_view::npos;
  out.name = official ? concat("library/", rest) : std::string(rest);
  if (out.host.size() + 1 + out.name.size() > kMostName) return refuse(whole, "its name is longer than 255 characters");
  return {};
}

/// An image of a layout may have a whole name: PATH:docker.io/library/x:1.0. The colon before it, if there is one.
std::size_t colon_before_name(std::string_view text) {
  for (std::size_t colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':', colon + 1)) {
    const std::string_view name = text.substr(colon + 1);
    const std::string_view host = name.substr(0, std::min(name.find('/'), name.size()));
    ImageReference whole;
    if (colon > 0 && host != name && (host == "localhost" || host.find_first_of(".:") != std::string_view::npos) &&
        take_name(name, name, whole) && !whole.tag.empty()) {
      return colon;
    }
  }
  return std::string_view::npos;
}

}  // namespace

bool is_image_digest(std::string_view text) {
  return text.starts_with(kDigestBegin) && text.size() == kDigestBegin.size() + kDigestDigits &&
         std::ranges::all_of(text.substr(kDigestBegin.size()), is_hex);
}

Result<ImageReference> ImageReference::parse(std::string_view text) {
  ImageReference out;
  if (text.empty()) return refuse(text, "the name is missing");
  if (text.find_first_of(std::string_view("\0\n\r\t ", 5)) != std::string_view::npos &&
      text.find('/') == std::string_view::npos) {
    return refuse(text, "it contains white space");
  }
  if (text.find('\0') != std::string_view::npos) return refuse("?", "it contains a NUL byte");
  std::string_view rest = text;
  for (const auto& [source, prefix] : kTransports) {
    if (!rest.starts_with(prefix)) continue;
    out.source = source;
    rest.remove_prefix(prefix.size());
    break;
  }
  if (out.source == Source::root_folder) {
    if (rest.empty()) return refuse(text, "the path is missing");
    out.path = rest;
    return out;
  }
  if (out.source == Source::registry && rest.starts_with("docker://")) rest.remove_prefix(9);
  auto digest = take_digest(text, rest);
  if (!digest) return pass(digest);
  out.digest = std::move(*digest);
  if (out.source == Source::oci_layout) {
    if (const std::size_t before = colon_before_name(rest); before != std::string_view::npos) {
      out.tag = rest.substr(before + 1);
      out.path = rest.substr(0, before);
      return out;
    }
    const std::size_t colon = rest.rfind(':');
    if (colon != std::string_view::npos && rest.find('/', colon) == std::string_view::npos) {
      out.tag = rest.substr(colon + 1);
      if (!is_tag(out.tag)) return refuse(text, concat("'", out.tag, "' is not a valid tag"));
      rest = rest.substr(0, colon);
    }
    if (rest.empty()) return refuse(text, "the path is missing");
    out.path = rest;
    return out;
  }
  if (out.source == Source::docker_archive) {
    const std::size_t colon = rest.find(':');  // as skopeo reads it
    out.path = rest.substr(0, colon);
    if (out.path.empty()) return refuse(text, "the path is missing");
    if (colon == std::string_view::npos) return out;
    rest.remove_prefix(colon + 1);
  }
  if (auto named = take_name(text, rest, out); !named) return pass(named);
  if (out.tag.empty() && (out.digest.empty() || out.source != Source::registry)) out.tag = "latest";
  return out;
}

std::string ImageReference::text() const {
  std::string out;
  for (const auto& transport : kTransports) {
    if (transport.source == source) out = transport.prefix;
  }
  out += path;
  if (!name.empty()) {
    if (!path.empty()) out += ':';
    out += concat(host, "/", name);
  }
  if (!tag.empty()) out += concat(":", tag);
  if (!digest.empty()) out += concat("@", digest);
  return out;
}

ImageReference ImageReference::pinned(std::string of) const {
  ImageReference out = *this;
  out.digest = std::move(of);
  return out;
}

}  // namespace drover
