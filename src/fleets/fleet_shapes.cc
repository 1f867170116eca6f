#include "fleets/fleet_shapes.h"

#include <algorithm>

#include "base/text.h"

namespace drover {
namespace {

std::string why_unknown(const FleetRules& rules) {
  if (rules.provider == "none") return "provider 'none' launches no machines: start its workers yourself";
  if (rules.provider != "command") return concat("provider '", rules.provider, "' is not available on this server");
  return concat("command '", rules.command, "' is not configured on this server: start the server with --fleet-command ",
                rules.command, "=PROGRAM");
}

/// Such as "a, b and c".
std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " and " : ", ";
    out += words[i];
  }
  return out;
}

std::string missing_text(const FleetRules& rules, const std::vector<std::string>& missing,
                         const std::vector<Shape>& has) {
  std::vector<std::string> names;
  for (const Shape& it : has) names.push_back(it.name);
  if (rules.provider == "local") names.emplace_back("the known instance types of clouds, such as c7g.4xlarge");
  std::string out = concat("provider '", rules.provider, "' has no ", missing.size() == 1 ? "shape " : "shapes ");
  out += listed(missing);
  if (!names.empty()) out += concat("; it has ", listed(names));
  return out;
}

}  // namespace

FleetShapes fleet_shapes(const FleetRules& rules, const std::optional<Result<std::vector<Shape>>>& offered) {
  if (!offered) return {.are_known = false, .unavailable = why_unknown(rules)};
  if (!*offered) {
    return {.are_known = false,
            .unavailable = concat("the shapes of its machines are not known: ", offered->error().message)};
  }
  const std::vector<Shape>& has = **offered;
  FleetShapes out;
  if (rules.shapes.empty()) out.shapes = has;
  std::vector<std::string> missing;
  for (const std::string& name : rules.shapes) {
    const auto shape = std::ranges::find(has, name, &Shape::name);
    if (shape != has.end()) {
      out.shapes.push_back(*shape);
    } else {
      missing.push_back(concat("'", name, "'"));
    }
  }
  if (!missing.empty()) out.missing = missing_text(rules, missing, has);
  if (out.shapes.empty()) {
    out.unavailable = out.missing.empty() ? concat("provider '", rules.provider, "' has no shape") : out.missing;
  }
  return out;
}

}  // namespace drover
