// A job as people submit it in JSON: what to run, on what, and under which rules. Every field is checked, and what is
// wrong is named.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/resources.h"
#include "base/result.h"
#include "core/policy.h"
#include "core/records.h"
#include "wire/definition.h"

namespace drover {

/// The numbers from first to last.
struct NumberItems {
  std::int64_t first = 0;
  std::int64_t last = 0;

  bool operator==(const NumberItems&) const = default;
};

struct Submission {
  std::string name;          // empty: made from the command
  std::string client_token;  // the same one again is the same job
  Definition definition;
  Policy policy;
  Labels require;                                                         // of a worker that shall run it
  std::variant<std::vector<std::string>, NumberItems, ManifestId> items;  // a manifest: uploaded before
};

/// {"name": …, "command": ["./process", "{}"], "items": ["a", "b"], …}; see docs/api.md.
Result<Submission> submission_from_json(std::string_view text);
std::string submission_to_json(const Submission& submission);

}  // namespace drover
