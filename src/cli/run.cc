// drover run: items in, every one of them run.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>

#include "base/units.h"
#include "cli/accept_items.h"
#include "cli/command_flags.h"
#include "cli/devices_here.h"
#include "cli/image_here.h"
#include "cli/item_source.h"
#include "cli/notices_in_background.h"
#include "cli/policy_flags.h"
#include "cli/run_job.h"
#include "cli/run_settings.h"
#include "cli/shortage_flags.h"
#include "store/manifest.h"
#include "store/sqlite_store.h"
#include "worker/command_template.h"
#include "worker/program.h"

namespace drover {
namespace {

struct RunFlags {
  CommonFlags common;
  CommandFlags command;
  PolicyFlags policy;
  ShortageFlags shortage;
  PrintFlags print;
  std::optional<std::string> name;
  std::size_t jobs = 0;
  std::uint64_t gpus = 0;
  std::vector<std::string> accelerators;
  std::string out;
  bool fresh = false;
};

// From the command and the time: "convert-20260114-101502". Making its folder claims it: of two that are started in the
// same second one gets another.
Result<std::string> claim_name(const std::string& root, const Definition& definition) {
  std::string base;
  if (!definition.command.empty()) {
    const std::string& line = definition.command.front();
    base = std::filesystem::path(line.substr(0, line.find(' '))).filename();
  } else if (definition.container) {
    base = std::filesystem::path(definition.container->image).stem();
  }
  std::erase_if(base, [](char c) { return !is_valid_name(std::string_view(&c, 1)) && c != '.'; });
  if (base.empty() || base.starts_with('.')) base = "run";
  base = fmt::format("{}-{:%Y%m%d-%H%M%S}", base.substr(0, 64), fmt::localtime(std::time(nullptr)));
  return RunFolder::claim(root, base);
}

Uuid new_uuid() {
  std::array<std::uint8_t, 16> bytes{};
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t more = getrandom(bytes.data() + got, bytes.size() - got, 0);
    if (more > 0) got += static_cast<std::size_t>(more);
  }
  return Uuid::from_random(bytes);
}

Error changed(const std::string& name, const std::string& what) {
  return {ErrorCode::conflict, fmt::format("run '{}' already exists, and {}", name, what),
          fmt::format("resume it: drover resume {0}; start over: add --fresh; or choose another --name", name)};
}

// What a tag meant when the run began does not make it another.
ContainerOptions same_container(ContainerOptions options) {
  options.digest.clear();
  return options;
}

// The same line again goes on. A line that says something else is refused, and what differs is named.
Result<void> compare(StoreReader& reader, const Job& job, const Definition& now, const ItemSource& source) {
  auto text = reader.definition(job.definition);
  if (!text) return pass(text);
  auto before = definition_from_json(*text);
  if (!before) return pass(before);
  const auto differs = [&](const std::string& what) { return std::unexpected(changed(job.name, what)); };
  if (before->command != now.command || before->shell != now.shell) {
    return differs(
        fmt::format("its command was: {}{}", before->shell ? "--shell " : "", shown_command(before->command)));
  }
  if (before->workdir != now.workdir) return differs(fmt::format("it ran in {}", before->workdir));
  if (before->environment != now.environment) return differs("its --env settings were different");
  const auto& container = before->container;
  if (container.has_value() != now.container.has_value()) return differs("its --image setting was different");
  if (container && now.container && same_container(*container) != same_container(*now.container)) {
    return differs(fmt::format("its container settings were different: {}", container->image));
  }
  if (before->items != now.items) return differs("its items came from a different kind of list");

  auto manifest = ManifestReader::open(reader, job.manifest);
  if (!manifest) return pass(manifest);
  const auto* range = std::get_if<RangeSource>(&source);
  if (range != nullptr && manifest->is_range(range->first, range->count())) return {};
  std::uint64_t index = 0;
  auto read = read_items(source, [&](std::string_view item) -> Result<void> {
    const ItemIndex at{index++};
    if (at.value >= manifest->items()) return {};
    auto known = manifest->item(at);
    if (!known) return pass(known);
    if (*known == item) return {};
    return differs(fmt::format("its items were different: item {} was '{}' and is now '{}'", at.value,
                               known->substr(0, 80), item.substr(0, 80)));
  });
  if (!read) return pass(read);
  if (index == manifest->items()) return {};
  return differs(fmt::format("its list had {} and now has {}", plural(manifest->items(), "item"), format_count(index)));
}

/// What a run line says, checked as far as it can be without reading the items.
struct Asked {
  ItemSource source;
  Definition definition;
  CommandTemplate command;
  Shortage shortage;
  std::optional<PrintOrder> print;
  AcceleratorCounts accelerators = {};
  std::shared_ptr<SlotGrants> devices = nullptr;
};

std::size_t slots_of(const RunFlags& flags) {
  return flags.jobs == 0 ? default_slots() : flags.jobs;
}

Result<Asked> understand(const RunFlags& flags, const Invocation& invocation) {
  auto command = take_command(flags.command, invocation);
  if (!command) return pass(command);
  auto source = choose_source(flags.command, *command);
  if (!source) return pass(source);
  auto definition = make_definition(flags.command, std::move(*command));
  if (!definition) return pass(definition);
  if (!definition->container) {
    auto program = find_program(*definition);
    if (!program) return pass(program);
  }
  // What an image runs by itself is known when it is here.
  Definition known = *definition;
  if (known.command.empty() && known.container) known.command = {"{}"};
  auto command_template = CommandTemplate::parse(known);
  if (!command_template) return pass(command_template);
  if (auto valid = policy_over({}, flags.policy, 0); !valid) return pass(valid);
  auto shortage = make_shortage(flags.shortage);
  if (!shortage) return pass(shortage);
  auto print = print_order(flags.print, flags.common);
  if (!print) return pass(print);
  if (flags.name && !is_valid_name(*flags.name)) {
    return fail(ErrorCode::bad_input, fmt::format("invalid run name '{}'", *flags.name),
                "use at most 128 letters, digits, '_', '.' and '-'");
  }
  auto accelerators = accelerator_counts(flags.gpus, flags.accelerators);
  if (!accelerators) return pass(accelerators);
  auto devices = devices_for(*accelerators, slots_of(flags));
  if (!devices) return pass(devices);
  if (auto made = make_out_dir(flags.out); !made) return pass(made);
  return Asked{std::move(*source), std::move(*definition), std::move(*command_template), *shortage, *print,
               *accelerators,      std::move(*devices)};
}

// `accepted` becomes true when the list is safe and the job may exist.
Result<int> run_in(RunFolder& folder, const RunFlags& flags, const Asked& asked, bool& accepted) {
  auto store = open_store(folder);
  if (!store) return pass(store);
  auto reader = open_sqlite_reader(folder.database());
  if (!reader) return pass(reader);
  auto jobs = (*reader)->jobs();
  if (!jobs) return pass(jobs);

  DriveOptions options{flags.common,   slots_of(flags), flags.out,  {}, false, false, asked.definition.limits,
                       asked.shortage, asked.devices,   asked.print};
  if (!options.out_dir.empty()) options.out_dir = std::filesystem::absolute(options.out_dir).string();
  const RunSettings settings{flags.jobs, options.out_dir, asked.definition.limits, asked.accelerators};
  if (!jobs->empty()) {
    const Job& job = jobs->back();
    if (auto same = compare(**reader, job, asked.definition, asked.source); !same) return pass(same);
    auto policy = policy_over({}, flags.policy, job.total);
    if (!policy) return pass(policy);
    options.policy = *policy;
    options.resumed = true;
    if (auto saved = save_settings(folder, settings); !saved) return pass(saved);
    return drive(folder, **store, std::nullopt, options);
  }

  // What its tag means now is what it means for every item, also of a run that goes on another day.
  Definition accepted_definition = asked.definition;
  if (std::optional<ContainerOptions>& container = accepted_definition.container) {
    const std::string root = data_root(flags.common.data);
    MachineRunner runner(containers_folder(root));
    auto image = image_here(root, runner, *container, flags.common.quiet || flags.common.json);
    if (!image) return pass(image);
    container->digest = (*image)->digest;
  }
  auto manifest = accept_items(**store, asked.source, asked.command);
  if (!manifest) return pass(manifest);
  warn_if_empty(manifest->items, flags.command, flags.common);
  auto policy = policy_over({}, flags.policy, manifest->items);
  if (!policy) return pass(policy);
  auto definition = (*store)->add_definition(definition_to_json(accepted_definition));
  if (!definition) return pass(definition);
  accepted = true;
  if (auto dropped = folder.drop_aside(); !dropped) return pass(dropped);
  if (auto saved = save_settings(folder, settings); !saved) return pass(saved);
  return drive(
      folder, **store,
      SubmitJob{{.name = folder.name(), .policy = *policy}, manifest->items, new_uuid(), *definition, manifest->id},
      options);
}

Result<int> run(const RunFlags& flags, const Invocation& invocation) {
  auto asked = understand(flags, invocation);
  if (!asked) return pass(asked);
  const std::string root = data_root(flags.common.data);
  auto name = flags.name ? Result<std::string>(*flags.name) : claim_name(root, asked->definition);
  if (!name) return pass(name);
  auto folder = RunFolder::hold(root, *name, print_notice);
  if (!folder) return pass(folder);
  if (flags.fresh && folder->has_database()) {
    if (auto moved = folder->set_aside(); !moved) return pass(moved);
  }
  bool accepted = folder->has_database();
  auto status = run_in(*folder, flags, *asked, accepted);
  // A run whose list was never accepted leaves nothing behind, and what --fresh was to replace stays.
  if (!status && !accepted) {
    if (auto discarded = folder->discard(); !discarded) print_error(discarded.error());
    if (status.error().code == ErrorCode::stopped) {
      print_error(status.error());
      return kInterrupted;
    }
  }
  return status;
}

}  // namespace

void add_run(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<RunFlags>();
  Verb verb = app.add_subcommand("run", "Run a command for every item in a list, on this machine");
  add_common_flags(verb, flags->common);
  add_command_flags(verb, flags->command);
  verb.add_option("--name", flags->name, "Name of the run; using the same name again resumes it").type_name("NAME");
  verb.add_flag("--fresh", flags->fresh, "Discard the results of the run with this name and start over");
  verb.add_option("--jobs,-j", flags->jobs, "Maximum number of items to run at once (default: number of cores)")
      .type_name("N")
      .range(1, 4096);
  verb.add_option("--gpus", flags->gpus, "GPUs per item, of which nobody else is given any meanwhile")
      .type_name("N")
      .range(1, kMostAccelerators);
  verb.add_option("--accelerator", flags->accelerators, "Accelerators per item: nvidia, amd or neuron; repeatable")
      .type_name("KIND=N")
      .repeatable();
  add_policy_flags(verb, flags->policy);
  add_shortage_flags(verb, flags->shortage);
  add_print_flags(verb, flags->print);
  verb.add_option("--out", flags->out, "Also write each item's output to DIR/INDEX.out and DIR/INDEX.err")
      .type_name("DIR");
  verb.footer(
      std::string(kCommandHelp) +
      "Examples:\n"
      "  drover run --items photos.txt -- convert {} -resize 50% small/{/}\n"
      "  drover run --name nightly --range 1-1000 --retries 2 --timeout 10m -- ./simulate --seed {}\n"
      "  drover run --dir in --match '*.gz' --shell -- 'zcat {} | wc -l > counts/{/.}'\n"
      "  drover run -- echo hello {} ::: anna bert carl\n"
      "  drover run --image python:3.12 --mount $PWD:/data --items list.txt -- python /data/process.py {}\n"
      "  drover run --gpus 1 --items scans.txt -- python3 segment.py {}\n"
      "Exit status: 0 if all items succeeded, 1 if some did not, 2 on invalid usage or input, 130 if interrupted.");
  verb.callback([flags, verb, &invocation] {
    flags->command.words = verb.remaining();
    const NoticesInBackground notices;
    auto status = run(*flags, invocation);
    invocation.exit_status = status ? *status : failure(status.error());
  });
}

}  // namespace drover
