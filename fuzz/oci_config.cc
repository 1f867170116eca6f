// A container's config.json, which drover-runtime reads and changes: what is not changed stays as it was written.
#include "fuzzed.h"
#include "wire/oci_edit.h"

namespace drover {
namespace {

CdiEdits some_edits() {
  CdiEdits edits;
  edits.environment = {"NVIDIA_VISIBLE_DEVICES=void"};
  edits.devices.push_back({.path = "/dev/nvidia0", .type = "c", .major = 195, .minor = 0, .mode = 0666});
  edits.mounts.push_back({.host_path = "/usr/lib/libcuda.so.1", .container_path = "/usr/lib/libcuda.so.1"});
  edits.hooks.push_back({.stage = "createContainer", .path = "/usr/bin/drover-hook", .arguments = {"drover-hook"}});
  return edits;
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  auto config = JsonText::parse(std::string(bytes));
  if (!config) return;
  DROVER_CHECK(config->text() == bytes, "what is read and not changed is written as it was");
  static_cast<void>(oci_facts(*config));
  if (!apply_edits(*config, some_edits())) return;
  const std::string edited = config->text();
  auto again = JsonText::parse(edited);
  DROVER_CHECK(again.has_value(), "what is written is JSON");
  const auto facts = oci_facts(*again);
  DROVER_CHECK(facts.has_value(), "and a config");
  DROVER_CHECK(facts->variable("NVIDIA_VISIBLE_DEVICES") != nullptr, "that has the edits");
}

}  // namespace drover
