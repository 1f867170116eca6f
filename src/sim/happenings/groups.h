// The groups of happenings, and what each brings.
#pragma once

#include <memory>
#include <vector>

#include "sim/script_draft.h"
#include "sim/world_part.h"

namespace drover::sim {

struct HappeningGroup {
  std::unique_ptr<ScriptWriter> (*make_writer)(ScriptDraft&) = nullptr;
  std::unique_ptr<WorldPart> (*make_part)(Stage&) = nullptr;  // none: it brings nobody
};

/// In the order in which they write scripts.
std::vector<HappeningGroup> happening_groups();

template <class Writer>
HappeningGroup group_of() {
  return {.make_writer = [](ScriptDraft& draft) -> std::unique_ptr<ScriptWriter> {
    return std::make_unique<Writer>(draft);
  }};
}
template <class Writer, class Part>
HappeningGroup group_of() {
  HappeningGroup group = group_of<Writer>();
  group.make_part = [](Stage& stage) -> std::unique_ptr<WorldPart> { return std::make_unique<Part>(stage); };
  return group;
}

}  // namespace drover::sim
