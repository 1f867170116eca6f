#include "run/image/skopeo_words.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace drover {
namespace {

using Source = ImageReference::Source;

struct Phrase {
  std::string_view words;
  ImageFault fault;
};

// Asked in this order: what explains the others comes first. In small letters.
constexpr std::string_view kNoLoginData = "getting username and password";
constexpr auto kPhrases = std::to_array<Phrase>({
    {kNoLoginData, ImageFault::unauthorized},
    {"no space left on device", ImageFault::no_space},
    {"disk quota exceeded", ImageFault::no_space},
    {"read-only file system", ImageFault::no_space},
    {"is too old. minimum supported api version", ImageFault::unsupported},
    {"cannot connect to the docker daemon", ImageFault::unreachable},
    {"digest did not match", ImageFault::bad_digest},
    {"does not match provided manifest digest", ImageFault::bad_digest},
    {"manifest does not match", ImageFault::bad_digest},
    {"context deadline exceeded", ImageFault::timed_out},
    {"i/o timeout", ImageFault::timed_out},
    {"handshake timeout", ImageFault::timed_out},
    {"timeout awaiting response", ImageFault::timed_out},
    {"connection timed out", ImageFault::timed_out},
    {"connection refused", ImageFault::unreachable},
    {"connection reset", ImageFault::unreachable},
    {"broken pipe", ImageFault::unreachable},
    {"no such host", ImageFault::unreachable},
    {"server misbehaving", ImageFault::unreachable},
    {"temporary failure in name resolution", ImageFault::unreachable},
    {"network is unreachable", ImageFault::unreachable},
    {"no route to host", ImageFault::unreachable},
    {"server gave http response to https client", ImageFault::unreachable},
    {"x509:", ImageFault::unreachable},
    {"tls:", ImageFault::unreachable},
    {"toomanyrequests", ImageFault::unreachable},
    {"too many requests", ImageFault::unreachable},
    {"internal server error", ImageFault::unreachable},
    {"bad gateway", ImageFault::unreachable},
    {"service unavailable", ImageFault::unreachable},
    {"gateway timeout", ImageFault::unreachable},
    {"invalid username/password", ImageFault::unauthorized},
    {"unauthorized", ImageFault::unauthorized},
    {"authentication required", ImageFault::unauthorized},
    {"requested access to the resource is denied", ImageFault::unauthorized},
    {"denied:", ImageFault::unauthorized},
    {"forbidden", ImageFault::unauthorized},
    {"manifest unknown", ImageFault::missing},
    {"name unknown", ImageFault::missing},
    {"not known to registry", ImageFault::missing},
    {"no such image", ImageFault::missing},
    {"reference does not exist", ImageFault::missing},
    {"no such file or directory", ImageFault::missing},
    {"not found", ImageFault::missing},
    {"no image found in manifest list", ImageFault::wrong_architecture},
    {"no image found in image index", ImageFault::wrong_architecture},
    {"unsupported", ImageFault::unsupported},
    {"unexpected eof", ImageFault::unreachable},
    {"eof", ImageFault::unreachable},
});

/// The image's own name may be any of the words that are looked for.
void blank_out(std::string& text, const std::string& what) {
  if (what.empty()) return;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) text.erase(at, what.size());
}

std::string without_names(std::string text, const ImageReference& reference) {
  const std::string full = in_small_letters(concat(reference.host, "/", reference.name));
  blank_out(text, in_small_letters(reference.path));
  if (!reference.name.empty()) {
    blank_out(text, concat(full, ":", in_small_letters(reference.tag)));
    blank_out(text, full);
    blank_out(text, concat("/v2/", reference.name));
    blank_out(text, concat("manifest ", in_small_letters(reference.tag), " in"));
    blank_out(text, concat("/manifests/", in_small_letters(reference.tag)));
  }
  return text;
}

/// The last level=fatal line's msg="…", still quoted.
std::string_view fatal_message(std::string_view said) {
  constexpr std::string_view kFatal = "level=fatal msg=";
  const std::size_t at = said.rfind(kFatal);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = said.substr(at + kFatal.size());
  return rest.substr(0, rest.find('\n'));
}

std::string unquoted(std::string_view text) {
  if (!text.starts_with('"')) return std::string(text);
  std::string out;
  for (std::size_t at = 1; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) {
      ++at;
      out += text[at] == 'n' || text[at] == 't' ? ' ' : text[at];
      continue;
    }
    out += text[at];
  }
  return out;
}

std::string next_step(ImageFault fault, const ImageReference& reference, std::string_view words) {
  const std::string& host = reference.host;
  switch (fault) {
    case ImageFault::missing:
      return reference.is_local_path() ? "check the path; it must exist on every machine that runs the job"
                                       : "check its name and tag";
    case ImageFault::unauthorized:
      if (words == kNoLoginData)
        return "fix Docker's config.json on this machine, or the file named by DROVER_REGISTRY_AUTH";
      return concat("log in with docker login ", host, ", or check the image name");
    case ImageFault::unreachable:
      if (reference.source == Source::docker_daemon)
        return "start Docker on this machine, or use another kind of image";
      if (words.starts_with("server gave") || words == "x509:")
        return concat("if you trust ", host, " without TLS verification, configure it as an insecure registry");
      return concat("check that ", host, " is reachable");
    case ImageFault::timed_out: return concat("check that ", host, " is reachable");
    case ImageFault::bad_digest: return "retry; if it fails again, push the image again";
    case ImageFault::wrong_architecture:
      return "use an image for this architecture, or machines with the image's architecture";
    case ImageFault::no_space: return "free some disk space, or run 'drover image prune'";
    case ImageFault::unsupported:
      if (reference.source == Source::docker_daemon) return "use docker save and docker-archive:PATH";
      break;
    default: break;
  }
  return "check that skopeo inspect works for it";
}

std::string what_happened(ImageFault fault, const ImageReference& reference, std::string_view words) {
  if (words == kNoLoginData) return "the registry credentials on this machine cannot be used";
  const bool local = reference.is_local_path();
  switch (fault) {
    case ImageFault::missing: return local ? "file not found, or no such image in it" : "image not found";
    case ImageFault::unauthorized: return concat(reference.host, " requires a login, or denies access to this user");
    case ImageFault::unreachable:
      return reference.source == Source::docker_daemon ? "the Docker daemon is unreachable"
                                                       : concat(reference.host, " is unreachable");
    case ImageFault::timed_out: return concat(reference.host, " did not respond in time");
    case ImageFault::bad_digest: return "the received data does not match its digest";
    case ImageFault::wrong_architecture: return "not available for this platform";
    case ImageFault::no_space: return "not enough disk space";
    case ImageFault::unsupported: return "skopeo cannot fetch it";
    default: return "it cannot be read";
  }
}

/// Without the image's name at the beginning, which stands before it anyway.
std::string_view cause(std::string_view reason) {
  const std::size_t at = reason.find("\": ");
  return at == std::string_view::npos ? reason : reason.substr(at + 3);
}

}  // namespace

std::string skopeo_reason(std::string_view said) {
  if (const std::string_view fatal = fatal_message(said); !fatal.empty()) return unquoted(fatal);
  while (said.ends_with('\n')) said.remove_suffix(1);
  return std::string(said.substr(said.rfind('\n') + 1));
}

std::int64_t skopeo_retry_after_ms(std::string_view said) {
  constexpr std::string_view kHeader = "Detected 'Retry-After' header \\\"";
  constexpr std::int64_t kMostSeconds = 86'400;
  const std::size_t at = said.rfind(kHeader);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = said.substr(at + kHeader.size());
  std::int64_t seconds = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), seconds);
  return std::clamp<std::int64_t>(seconds, 0, kMostSeconds) * 1000;
}

ImageError skopeo_error(std::string_view said, const ImageReference& reference) {
  const std::string reason = skopeo_reason(said);
  const std::string text = without_names(in_small_letters(reason), reference);
  // What nobody foresaw: a file that cannot be read stays so; a registry may answer better the next time.
  ImageFault fault = reference.is_local_path() ? ImageFault::corrupt : ImageFault::unreachable;
  std::string_view words;
  for (const Phrase& phrase : kPhrases) {
    if (text.find(phrase.words) == std::string::npos) continue;
    fault = phrase.fault;
    words = phrase.words;
    break;
  }
  // Nobody serves a file over a network: it ends too early because it is cut.
  if (reference.is_local_path() && fault == ImageFault::unreachable) fault = ImageFault::corrupt;
  Blame blame = usual_blame(fault);
  if (reference.source == Source::docker_daemon &&
      (fault == ImageFault::unreachable || fault == ImageFault::unsupported))
    blame = Blame::machine;
  if (words == kNoLoginData) blame = Blame::machine;
  return {fault,
          blame,
          concat(what_happened(fault, reference, words), reason.empty() ? "" : " (", cause(reason),
                 reason.empty() ? "" : ")"),
          next_step(fault, reference, words),
          words.find("no space left") != std::string::npos ? ImageError::Disk::is_full : ImageError::Disk::as_it_is,
          skopeo_retry_after_ms(said)};
}

}  // namespace drover
