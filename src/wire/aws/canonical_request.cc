#include "wire/aws/canonical_request.h"

#include <vector>

#include "base/text.h"
#include "base/url.h"
#include "wire/digest.h"

namespace drover::aws {
namespace {

void append_name(std::string& list, std::string_view name) {
  if (!list.empty()) list += ", ";
  list += in_small_letters(name);
}

bool has_to_be_signed(std::string_view name) {
  constexpr std::string_view kPrefix = "x-amz-";
  return std::is_eq(compare_names(name, "host")) || std::is_eq(compare_names(name.substr(0, kPrefix.size()), kPrefix));
}

}  // namespace

std::optional<std::string> canonical_query(std::string_view query) {
  auto pairs = query_pairs(query);
  if (!pairs) return std::nullopt;
  std::erase_if(*pairs, [](const auto& pair) { return pair.first == "X-Amz-Signature"; });
  for (auto& [name, value] : *pairs) {
    name = percent_encoded(name);
    value = percent_encoded(value);
  }
  std::ranges::sort(*pairs);
  std::string out;
  out.reserve(query.size() + pairs->size());
  for (const auto& [name, value] : *pairs) {
    if (!out.empty()) out += '&';
    out += name;
    out += '=';
    out += value;
  }
  return out;
}

std::string canonical_path(std::string_view path, std::string_view service) {
  if (path.empty()) return "/";
  if (service == kS3) return std::string(path);
  std::string out;
  while (true) {
    const std::size_t end = std::min(path.find('/'), path.size());
    out += percent_encoded(path.substr(0, end));
    if (end == path.size()) return out;
    out += '/';
    path.remove_prefix(end + 1);
  }
}

void append_canonical_value(std::string& out, std::string_view value) {
  bool after_space = false;
  for (const char c : trimmed(value)) {
    const bool is_space = c == ' ' || c == '\t';
    if (!is_space) {
      out += c;
    } else if (!after_space) {
      out += ' ';
    }
    after_space = is_space;
  }
}

CanonicalHeaders canonical_headers(std::span<const Header> headers, std::string_view signed_headers) {
  std::vector<const Header*> sorted;
  sorted.reserve(headers.size());
  for (const Header& header : headers) sorted.push_back(&header);
  std::ranges::sort(sorted, [](const Header* x, const Header* y) {
    const auto order = compare_names(x->name, y->name);
    return std::is_eq(order) ? x < y : std::is_lt(order);  // those of one name as they were sent
  });

  CanonicalHeaders out;
  std::size_t most_bytes = 0;
  for (const Header& header : headers) most_bytes += header.name.size() + header.value.size() + 2;
  out.text.reserve(most_bytes);
  auto at = sorted.begin();
  const auto skip_one = [&] {
    if (has_to_be_signed((*at)->name)) append_name(out.not_signed, (*at)->name);
    ++at;
  };
  while (!signed_headers.empty()) {
    const std::string_view name = take_until(signed_headers, ';');
    while (at != sorted.end() && std::is_lt(compare_names((*at)->name, name))) skip_one();
    const auto is_next = [&] { return at != sorted.end() && std::is_eq(compare_names((*at)->name, name)); };
    if (!is_next()) {
      append_name(out.missing, name);
      continue;
    }
    out.text += name;
    out.text += ':';
    append_canonical_value(out.text, (*at)->value);
    for (++at; is_next(); ++at) {
      out.text += ',';
      append_canonical_value(out.text, (*at)->value);
    }
    out.text += '\n';
  }
  while (at != sorted.end()) skip_one();
  return out;
}

std::string canonical_head(const Request& request, std::string_view service, std::string_view query,
                           std::string_view headers, std::string_view signed_headers) {
  return concat(request.method, "\n", canonical_path(request.path, service), "\n", query, "\n", headers, "\n",
                signed_headers, "\n");
}

std::string string_to_sign(std::string_view date, const SigningScope& scope, std::string_view canonical_request) {
  return concat("AWS4-HMAC-SHA256\n", date, "\n", scope.text(), "\n", hex(sha256(canonical_request)));
}

}  // namespace drover::aws
