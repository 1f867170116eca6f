// What answers of S3 have in common.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "ports/buckets.h"
#include "ports/entropy.h"
#include "ports/http.h"
#include "wire/aws/output.h"

namespace drover::aws {

inline constexpr std::string_view kXmlBegin = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
inline constexpr std::string_view kXmlNamespace = " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";

inline HttpResponse s3_answer(int status = 200) {
  return {.status = status, .headers = {{"x-amz-request-id", random_uuid().text()}}, .body = {}};
}

inline HttpResponse xml_answer(std::string body) {
  HttpResponse out = s3_answer();
  out.headers.push_back({"Content-Type", "application/xml"});
  out.body = std::move(body);
  return out;
}

/// <NAME xmlns="…">CONTENT</NAME>
inline HttpResponse xml_answer(std::string_view name, std::string_view content) {
  return xml_answer(concat(kXmlBegin, "<", name, kXmlNamespace, ">", content, "</", name, ">"));
}

inline std::string xml_tag(std::string_view name, std::string_view text) {
  return concat("<", name, ">", xml_text(text), "</", name, ">");
}

inline std::string quoted(std::string_view etag) {
  return concat("\"", etag, "\"");
}

inline std::string without_quotes(std::string_view etag) {
  if (etag.size() >= 2 && etag.starts_with('"') && etag.ends_with('"')) etag = etag.substr(1, etag.size() - 2);
  return std::string(etag);
}

/// Of a bucket that keeps versions, or when one was asked for.
inline void add_version(HttpResponse& answer, const StoredObject& object, bool was_asked = false) {
  if (object.version != kNullVersion || was_asked) answer.headers.push_back({"x-amz-version-id", object.version});
}

}  // namespace drover::aws
