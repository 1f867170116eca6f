// YAML, and so JSON too, as a Node that knows where everything stands.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "wire/document.h"

namespace drover {

/// Why a text is no YAML: where, what, and what to do about it.
struct YamlError {
  Position place;
  std::string what;
  std::string next;
};

/// What a file describes, for the words of its errors.
struct FileSubject {
  std::string_view what = "job";
  std::string_view examples = "an example in docs/job-files.md";
  bool has_placeholders = true;  // such as {}, which YAML takes for an object
};

/// One document. Scalars are what YAML 1.2's core schema makes of them: `yes` is a text, `010` the number 10.
std::expected<Node, YamlError> node_from_yaml(std::string_view text, const FileSubject& subject = {});

}  // namespace drover
