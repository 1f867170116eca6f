#include <fmt/format.h>

#include "cli/accept_items.h"
#include "engine/engine.h"
#include "engine/system_clock.h"
#include "manifest_bench.h"
#include "measure.h"
#include "store/sqlite_store.h"
#include "wire/definition.h"

namespace drover {

void accept_list(const std::string& list, const std::string& database) {
  const Stopwatch whole;
  auto store = must(open_sqlite_store(database));
  Definition definition;
  definition.command = {"/bin/true", "{}"};
  definition.workdir = "/";
  const auto command = must(CommandTemplate::parse(definition));

  const WrittenManifest manifest = must(accept_items(*store, LinesSource{list}, command));

  const DefinitionId stored = must(store->add_definition(definition_to_json(definition)));
  SystemWallClock wall;
  SystemSteadyClock steady;
  auto engine = must(Engine::start(*store, wall, steady, [](const Effect&) {}));
  must(engine->ask(SubmitJob{{.name = "bench"}, manifest.items, Uuid::from_random({1}), stored, manifest.id}));
  const double seconds = whole.seconds();
  fmt::print("{{\"items\":{},\"seconds\":{:.6f},\"peak_kib\":{}}}\n", manifest.items, seconds, peak_resident_kib());
}

}  // namespace drover
