// What to run, as it is stored: a definition in JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/container.h"
#include "base/result.h"
#include "base/words.h"

namespace drover {

enum class ItemKind : std::uint8_t {
  text,  // an item is a string
  json,  // an item is a JSON object, whose fields are placeholders
};

struct Definition {
  std::vector<std::string> command;  // with placeholders
  bool shell = false;                // the command is one line for /bin/sh, items quoted
  bool literal = false;              // braces are no placeholders, and the item is no argument
  std::string workdir;
  std::vector<std::pair<std::string, std::string>> environment;
  ItemKind items = ItemKind::text;
  ItemLimits limits;
  bool strict_lease = false;                  // items are killed rather than run on when their lease may have expired
  std::optional<ContainerOptions> container;  // none: items run as programs of the worker's machine
  std::string on_notice;                      // before its machine is taken away: "run" on, or "checkpoint"; empty: run
  bool download = false;                      // each item is the URI of an object, which is fetched before its attempt
  std::string output;                         // with placeholders: where what attempts leave behind is uploaded to
  std::string role;                           // whose policies AWS clients in attempts are subject to: name or ARN
  std::string aws_batch;                      // what AWS Batch's API was given, as JSON; empty: it was not made there

  bool operator==(const Definition&) const = default;
};

std::string definition_to_json(const Definition& definition);
Result<Definition> definition_from_json(std::string_view text);

}  // namespace drover
