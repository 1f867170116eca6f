// drover submit: hands a job to a server, from a file, from the command line, or from a file with the command line over
// it.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <filesystem>

#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/answer.h"
#include "cli/command_flags.h"
#include "cli/image_here.h"
#include "cli/item_stream.h"
#include "cli/job_flags.h"
#include "cli/job_text.h"
#include "cli/object_access.h"
#include "cli/object_sources.h"
#include "cli/policy_flags.h"
#include "cli/print.h"
#include "cli/server_client.h"
#include "cli/wait_for_end.h"
#include "ports/entropy.h"
#include "wire/document.h"
#include "wire/job_file.h"
#include "wire/job_schema.h"
#include "wire/path_map.h"
#include "wire/submission.h"
#include "worker/command_template.h"
#include "worker/job_staging.h"

namespace drover {
namespace json = boost::json;
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kItemsShown = 5;

struct SubmitFlags {
  CommonFlags common;
  ServerFlags server;
  CommandFlags command;
  PolicyFlags policy;
  JobFlags job;
  std::string file;
  std::vector<std::string> map;
  bool no_download = false;
  bool dry_run = false;
  bool schema = false;
  bool wait = false;
};

/// What is wrong with a job file has been printed already, all of it.
struct ToldAlready {};

/// A job that is ready to go, but for its items.
struct ReadyJob {
  Submission submission;
  ItemSource source;
  PathMap map;
};

std::string random_token() {
  return concat(random_number(), "-", random_number());
}

bool looks_like_job_file(std::string_view word) {
  return word == "-" || word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json");
}

/// Where a job file says it; paths are relative to it.
std::string beside(const fs::path& folder, const std::string& path_or_uri) {
  return looks_like_object_uri(path_or_uri) ? path_or_uri : (folder / path_or_uri).string();
}

Result<ItemSource> source_of(const JobFile& file, const fs::path& folder) {
  if (!file.items_file.empty()) return lines_or_objects(beside(folder, file.items_file), '\n');
  if (!file.jsonl.empty()) return lines_or_objects(beside(folder, file.jsonl), '\n');
  if (!file.dir.empty()) return FolderSource{absolute_path(folder / file.dir), file.match};
  if (const auto* numbers = std::get_if<NumberItems>(&file.job.items))
    return RangeSource{numbers->first, numbers->last};
  return WordsSource{std::get<std::vector<std::string>>(file.job.items)};
}

// The flags that `run` has too, over what a file says.
Result<void> apply_run_flags(const SubmitFlags& flags, const Verb& verb, const std::vector<std::string>& command,
                             Submission& job) {
  const auto typed = [&](const char* flag, const char* field) {
    const bool there = verb.count(flag) > 0;
    if (there) job.said.insert(field);
    return there;
  };
  if (auto applied = flags.command.fields.apply(job); !applied) return applied;
  auto workdir = find_workdir(flags.command, job.definition.container.has_value());
  if (!workdir) return pass(workdir);
  if (!command.empty()) job.definition.command = command;
  if (typed("--shell", "shell") || !command.empty()) job.definition.shell = flags.command.shell;
  if (typed("--workdir", "workdir") || (job.definition.workdir.empty() && job.named_definition.empty())) {
    job.definition.workdir = *workdir;
  }
  typed("--env", "environment");
  return apply_environment(flags.command, job.definition);
}

Result<void> check_words(const SubmitFlags& flags) {
  if (flags.file.empty() || flags.command.words.empty()) return {};
  const std::string& next = flags.command.words.front();
  if (next == ":::" || next.starts_with('-')) return {};
  if (looks_like_job_file(next)) {
    return fail(ErrorCode::bad_input, fmt::format("two job files given, {} and {}", flags.file, next),
                "submit each with its own command");
  }
  return fail(ErrorCode::bad_input, fmt::format("unexpected argument '{}' after the job file {}", next, flags.file),
              "to replace the file's command, put the new command after --");
}

// The file's own source, with what flags say of how it is read.
Result<ItemSource> file_source(const SubmitFlags& flags, JobFile& file, const fs::path& folder) {
  if (!flags.command.match.empty()) {
    if (file.dir.empty())
      return fail(ErrorCode::bad_input, "--match requires --dir", "omit --match, or add --dir PATH");
    file.match = flags.command.match;
  }
  auto source = source_of(file, folder);
  if (source && flags.command.null_separated) {
    auto* lines = std::get_if<LinesSource>(&*source);
    if (lines == nullptr || file.items_file.empty()) {
      return fail(ErrorCode::bad_input, "-0 requires --items", "omit -0, or add --items FILE");
    }
    lines->end = '\0';
  }
  return source;
}

/// Whether items are the objects that a list finds: then commands get them as files, unless something else is said.
bool lists_objects(const ItemSource& source) {
  const auto* objects = std::get_if<ObjectSource>(&source);
  return objects != nullptr && means_several(objects->uri, {.recursive = objects->uri.is_prefix()});
}

/// Everything but the number of items is checked before anything is read or sent.
Result<std::variant<ReadyJob, ToldAlready>> prepare(const SubmitFlags& flags, const Verb& verb,
                                                    const Invocation& invocation) {
  if (auto checked = check_words(flags); !checked) return pass(checked);
  auto command = take_command(flags.command, invocation);
  if (!command) return pass(command);
  const CommandFlags& given = flags.command;
  const bool lists_items = !given.items.empty() || !given.jsonl.empty() || !given.dir.empty() || !given.range.empty() ||
                           std::ranges::find(*command, ":::") != command->end();
  const bool names_stream = flags.job.fields.word("stream").has_value();
  if (lists_items && names_stream) {
    return fail(ErrorCode::bad_input, "--stream cannot be combined with a list of items: both specify items",
                "use one of them");
  }
  const bool own_items = lists_items || names_stream;
  ReadyJob job;
  if (lists_items || (flags.file.empty() && !names_stream)) {
    auto source = choose_source(given, *command);
    if (!source) return pass(source);
    job.source = std::move(*source);
  }
  if (!flags.file.empty()) {
    if (flags.file == "-" && (given.items == "-" || given.jsonl == "-")) {
      return fail(ErrorCode::bad_input, "the job file and the items both come from standard input",
                  "put one of them into a file");
    }
    auto text = read_job_text(flags.file);
    if (!text) return pass(text);
    auto file = read_job_file(
        *text, {.command = command->empty() && !flags.job.fields.word("definition") && !given.fields.word("image"),
                .items = !own_items});
    if (!file) {
      print_text(stderr, show_problems(flags.file == "-" ? "standard input" : flags.file, *text, file.error()));
      return ToldAlready{};
    }
    const fs::path folder = flags.file == "-" ? fs::path() : fs::path(flags.file).parent_path();
    if (lists_items) file->job.stream.clear();
    if (!own_items && file->job.stream.empty()) {
      auto source = file_source(flags, *file, folder);
      if (!source) return pass(source);
      job.source = std::move(*source);
    }
    for (auto& [from, to] : file->map) job.map.add(from, to);
    if (!file->job.definition.workdir.empty()) {
      file->job.definition.workdir = absolute_path(folder / file->job.definition.workdir);
    }
    job.submission = std::move(file->job);
  }
  // Items from elsewhere are of their own kind.
  if (own_items && !job.submission.said.contains("item_kind")) job.submission.definition.items = ItemKind::text;
  if (!given.jsonl.empty()) job.submission.definition.items = ItemKind::json;
  for (const std::string& word : flags.map) {
    auto rule = map_from_word("--map", word);
    if (!rule) return pass(rule);
    job.map.add(std::move(rule->first), std::move(rule->second));
  }
  if (auto applied = apply_job_flags(flags.job, job.submission); !applied) return pass(applied);
  if (auto applied = apply_run_flags(flags, verb, *command, job.submission); !applied) return pass(applied);
  Definition& definition = job.submission.definition;
  if (lists_objects(job.source) && !job.submission.said.contains("download")) definition.download = true;
  if (flags.no_download) definition.download = false;
  Submission trial = job.submission;
  if (auto applied = apply_policy_flags(flags.policy, 0, trial); !applied) return pass(applied);
  // Without a token of the user's own it still has one: whatever is said twice on its way is one job.
  if (job.submission.client_token.empty() && !flags.dry_run) job.submission.client_token = random_token();
  return job;
}

/// How items are held against the command. One that comes from a definition is the server's to know.
Result<CommandTemplate> template_of(const Submission& job) {
  const bool is_elsewhere = !job.named_definition.empty() || job.definition.container;
  if (!job.definition.command.empty() || !is_elsewhere) return CommandTemplate::parse(job.definition);
  Definition any;
  any.command = {"{}"};
  any.items = job.definition.items;
  return CommandTemplate::parse(any);
}

ItemStream::Change change_of(const ReadyJob& job) {
  return [&map = job.map, json = job.submission.definition.items == ItemKind::json](std::string_view item) {
    if (map.empty()) return std::string(item);
    return json ? map.apply_to_json(item) : map.apply(item);
  };
}

std::string items_text(const Submission& job, std::uint64_t total) {
  return job.stream.empty() ? plural(total, "item") : fmt::format("the messages of stream '{}'", job.stream);
}

// What is sent. A command line can hold any bytes; JSON cannot.
Result<std::string> body_of(const Submission& job) {
  std::string body = submission_to_json(job);
  if (utf8(body) == body) return body;
  return fail(ErrorCode::bad_input, "the job cannot be written as JSON: not all of its text is UTF-8",
              "use UTF-8 in its command, variables and working directory; items may contain any bytes");
}

Result<int> show_only(const SubmitFlags& flags, ReadyJob& job, const ItemCheck& check) {
  std::uint64_t total = 0;
  std::vector<std::string> first;
  const ItemStream::Change change = change_of(job);
  if (!job.submission.stream.empty()) {
    // Nobody knows which messages there will be.
  } else if (const auto* range = std::get_if<RangeSource>(&job.source)) {
    total = range->count();
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(total, kItemsShown); ++i) {
      first.push_back(std::to_string(range->first + static_cast<std::int64_t>(i)));
    }
  } else {
    auto read = read_items(job.source, [&](std::string_view given) -> Result<void> {
      const std::string item = change(given);
      if (auto fits = check(item, ItemIndex{total}); !fits) return fits;
      if (total++ < kItemsShown) first.push_back(item);
      return {};
    });
    if (!read) return pass(read);
  }
  if (auto applied = apply_policy_flags(flags.policy, total, job.submission); !applied) return pass(applied);
  job.submission.items = std::vector<std::string>{};
  auto text = body_of(job.submission);
  if (!text) return pass(text);
  auto body = node_from_json(*text);
  if (!body) return pass(body);
  std::erase_if(body->fields, [](const Node::Field& field) { return field.name == "items"; });
  if (flags.common.json) {
    json::array shown;
    for (const std::string& item : first) shown.emplace_back(utf8(item));
    show("{{\"job\":{},\"items\":{},\"first\":{}}}\n", node_to_json(*body), total, json::serialize(shown));
    return kAllSucceeded;
  }
  if (flags.common.quiet) return kAllSucceeded;
  show("{} would be submitted (dry run, nothing was sent)\n", items_text(job.submission, total));
  for (std::size_t i = 0; i < first.size(); ++i) show("  {:<14}{}\n", i == 0 ? "items" : "", utf8(first[i]));
  if (total > first.size()) show("  {:<14}… and {} more\n", "", format_count(total - first.size()));
  for (const auto& [name, place, value] : body->fields) {
    show("  {:<14}{}\n", name, value.kind == Node::Kind::text ? utf8(value.text) : node_to_json(value));
  }
  return kAllSucceeded;
}

Result<int> submit(const SubmitFlags& flags, const Verb& verb, const Invocation& invocation) {
  auto prepared = prepare(flags, verb, invocation);
  if (!prepared) return pass(prepared);
  if (std::holds_alternative<ToldAlready>(*prepared)) return kBadUsage;
  auto& job = std::get<ReadyJob>(*prepared);
  auto command = template_of(job.submission);
  if (!command) return pass(command);
  auto staging = make_job_staging(job.submission.definition);
  if (!staging) return pass(staging);
  const ItemCheck check = [&](std::string_view item, ItemIndex index) -> Result<void> {
    if (auto fits = command->check(item, index); !fits) return fits;
    return check_staging(*staging, item, index);
  };
  if (auto opened = open_source(flags.common, flags.server, job.source); !opened) return pass(opened);
  if (const auto* range = std::get_if<RangeSource>(&job.source)) {
    // Numbers are all alike.
    if (auto fits = check(std::to_string(range->first), ItemIndex{0}); !fits) return pass(fits);
  }
  if (flags.dry_run) return show_only(flags, job, check);
  auto client = ServerClient::connect(flags.common, flags.server);
  if (!client) return pass(client);
  if (std::optional<ContainerOptions>& container = job.submission.definition.container;
      container && !container->image.empty()) {
    if (auto pinned = pin_image(*container); !pinned) return pass(pinned);
  }
  const bool names_image = job.submission.definition.container && !job.submission.definition.container->image.empty();
  std::uint64_t total = 0;
  if (!job.submission.stream.empty()) {
    job.submission.items = std::vector<std::string>();
  } else if (const auto* range = std::get_if<RangeSource>(&job.source)) {
    job.submission.items = NumberItems{range->first, range->last};
    total = range->count();
  } else {
    const ItemStream::Change change = change_of(job);
    ItemStream stream(job.source, check, change);
    auto uploaded = client->upload("/api/v1/manifests?separator=nul", [&] { return stream.next(); });
    if (!uploaded) return pass(uploaded);
    job.submission.items = ManifestId{uploaded->at("manifest").to_number<std::uint64_t>()};
    total = uploaded->at("items").to_number<std::uint64_t>();
    warn_if_empty(total, flags.command, flags.common);
  }
  if (auto applied = apply_policy_flags(flags.policy, total, job.submission); !applied) return pass(applied);
  auto body = body_of(job.submission);
  if (!body) return pass(body);
  auto made = client->post_text("/api/v1/jobs", *body, Repeat::allowed);
  if (!made) return pass(made);
  if (flags.common.json) {
    show("{}\n", json::serialize(*made));
  } else if (!flags.common.quiet) {
    show("job {} '{}': {}\n", std::string_view(made->at("id").as_string()),
         std::string_view(made->at("name").as_string()), items_text(job.submission, total));
    // Of an image that was looked up here it has been said.
    if (const std::string notice = text_in(*made, "notice"); !notice.empty() && !names_image) print_notice(notice);
  }
  if (!flags.wait) return kAllSucceeded;
  flush_output();
  return wait_for_job(*client, {flags.common, std::nullopt}, text_in(*made, "id"), JobIs::known);
}

}  // namespace

void add_submit(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<SubmitFlags>();
  Verb verb =
      app.add_subcommand("submit", "Submit a job to a server: a job file, or a command for every item in a list");
  add_common_flags(verb, flags->common);
  add_server_flag(verb, flags->server);
  // Only what looks like one is taken for a job file: whatever else stands there begins a command.
  verb.add_option("file", flags->file, "Job file, .yaml or .json; - is standard input. Flags override its fields")
      .type_name("FILE")
      .accepts([](const std::string& word) { return looks_like_job_file(word) ? std::string() : "not a job file"; });
  verb.validate_positionals();
  add_command_flags(verb, flags->command);
  add_policy_flags(verb, flags->policy);
  add_job_flags(verb, flags->job);
  verb.add_option("--map", flags->map, "Replace the path FROM at the beginning of items with TO; repeatable")
      .type_name("FROM=TO")
      .repeatable();
  verb.add_flag("--no-download", flags->no_download,
                "With --items s3://BUCKET/PREFIX/: pass URIs to the command, not files")
      .excludes("--download");
  verb.add_flag("--dry-run", flags->dry_run, "Show what would be submitted, without sending it");
  verb.add_flag("--wait", flags->wait, "Wait until the job has ended; the exit status is as for drover run");
  verb.add_flag("--schema", flags->schema, "Print the JSON Schema of job files, for use in an editor");
  verb.footer(std::string(kCommandHelp) +
              "Examples:\n"
              "  drover submit nightly.yaml --priority 10\n"
              "  drover submit --dry-run nightly.yaml\n"
              "  drover submit --wait nightly.yaml\n"
              "  drover submit --items photos.txt -- convert {} -resize 50% small/{/}\n"
              "  drover submit --name sweep --range 1-1000000 --retries 2 -- ./simulate --seed {}\n"
              "  drover submit --cpus 0.5 --memory 2GiB --require gpu=none --items list.txt -- ./process {}\n"
              "  drover submit --image python:3.12 --mount /srv:/srv --range 1-9 -- python /srv/process.py {}\n"
              "  drover submit --dir /mnt/data --map /mnt/data=s3://bucket/data -- ./process {}\n"
              "  drover submit --items s3://photos/in/ --output s3://photos/out/ -- ./process {}\n"
              "  drover submit --stream orders --until-empty -- ./process {}");
  verb.callback([flags, verb, &invocation] {
    if (flags->schema) return static_cast<void>(print_text(stdout, job_schema()));
    flags->command.words = verb.remaining();
    auto done = submit(*flags, verb, invocation);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
