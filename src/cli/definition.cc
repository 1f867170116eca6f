// drover definition: jobs without their items, kept by name, so that many can be made from them.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/utf8.h"
#include "cli/answer.h"
#include "cli/job_text.h"
#include "cli/print.h"
#include "cli/server_verb.h"
#include "cli/table.h"
#include "wire/document.h"
#include "wire/job_file.h"

namespace drover {
namespace json = boost::json;
namespace fs = std::filesystem;
namespace {

struct DefinitionFlags : AskingFlags {
  std::string definition;
  std::string file;
  std::string name;
};

std::string path_of(const DefinitionFlags& flags) {
  return "/api/v1/definitions/" + url_escape(flags.definition);
}

std::string reference_in(const json::value& definition) {
  return fmt::format("{}:{}", text_in(definition, "name"), number_in(definition, "revision"));
}

void print_list(const json::value& answer) {
  Table table({{.title = "DEFINITION", .cut = true}, {.title = "STATE"}, {.title = "SINCE"}, {.title = "OWNER"}});
  for (const json::value& it : list_in(answer, "definitions")) {
    table.add({reference_in(it), flag_in(it, "active") ? "active" : "retired", local_time(number_in(it, "created_ms")),
               text_in(it, "owner")});
  }
  table.print();
}

Result<int> show_definition(ServerClient& client, const DefinitionFlags& flags) {
  auto answer = client.get(path_of(flags));
  if (!answer) return pass(answer);
  std::string text = fmt::format("definition '{}' {}", reference_in(*answer),
                                 flag_in(*answer, "active") ? "is active" : "was retired");
  for (const auto& [name, value] : object_in(*answer, "job")) {
    if (name == "items") continue;  // it has none
    text += fmt::format("\n  {:<14}{}", std::string_view(name),
                        value.is_string() ? std::string(value.get_string()) : json::serialize(value));
  }
  if (flag_in(*answer, "active")) {
    text += fmt::format("\n  submit a job from it: drover submit --definition {} --items list.txt",
                        text_in(*answer, "name"));
  }
  return tell(flags.common, *answer, text);
}

/// What a definition leaves to the jobs that are made from it; empty: the file has nothing of that.
std::string said_of_items(const JobFile& file) {
  for (const char* name : {"items", "range"}) {
    if (file.job.said.contains(name)) return name;
  }
  return !file.items_file.empty() ? "items_file"
         : !file.dir.empty()      ? "dir"
         : !file.jsonl.empty()    ? "jsonl"
         : !file.map.empty()      ? "map"
                                  : "";
}

Result<int> add(ServerClient& client, const DefinitionFlags& flags) {
  auto text = read_job_text(flags.file);
  if (!text) return pass(text);
  const std::string shown = flags.file == "-" ? "standard input" : flags.file;
  auto file = read_job_file(*text, {.command = true, .items = false});
  if (!file) {
    print_text(stderr, show_problems(shown, *text, file.error()));
    return kBadUsage;
  }
  if (const std::string field = said_of_items(*file); !field.empty()) {
    return fail(ErrorCode::bad_input, fmt::format("{} sets '{}', but a definition cannot have items", shown, field),
                "remove it; items are given when a job is submitted: drover submit --definition NAME --items …");
  }
  Submission& job = file->job;
  if (!flags.name.empty()) job.name = flags.name;
  if (job.name.empty()) {
    return fail(ErrorCode::bad_input, fmt::format("{} does not name the definition", shown),
                "add 'name: …' to it, or use --name NAME");
  }
  if (!job.definition.workdir.empty()) {
    const fs::path folder = flags.file == "-" ? fs::path() : fs::path(flags.file).parent_path();
    job.definition.workdir = absolute_path(folder / job.definition.workdir);
  }
  json::object body = json::parse(submission_to_json(job)).as_object();
  for (const char* name : {"items", "client_token"}) body.erase(name);
  auto answer = client.post("/api/v1/definitions", body);
  if (!answer) return pass(answer);
  return tell(flags.common, *answer, fmt::format("definition '{}' is registered", reference_in(*answer)));
}

Result<int> retire(ServerClient& client, const DefinitionFlags& flags) {
  auto answer = client.remove(path_of(flags));
  if (!answer) return pass(answer);
  return tell(flags.common, *answer,
              fmt::format("definition '{}' is retired: no new jobs can be submitted from it", reference_in(*answer)));
}

}  // namespace

void add_definition(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<DefinitionFlags>();
  Verb verb = app.add_subcommand("definition", "List, show, register and retire a server's job definitions");
  verb.require_subcommand(1);
  verb.footer(
      "Examples:\n  drover definition register resize.yaml\n  drover submit --definition resize --items photos.txt");
  const auto add_part = [&](const char* name, const char* help, const char* example, auto ask) {
    return add_server_verb(verb, name, help, example, *flags, invocation,
                           [flags, ask](ServerClient& client) { return ask(client, *flags); });
  };
  const auto about_one = [&](Verb it) {
    it.add_option("definition", flags->definition, "NAME for the newest active revision, or NAME:REVISION")
        .type_name("DEFINITION")
        .required();
  };
  add_part("list", "List definitions and their revisions", "drover definition list",
           [](ServerClient& client, const DefinitionFlags& it) {
             return show_answer(client, it, "/api/v1/definitions", print_list);
           });
  about_one(add_part("show", "Show a definition", "drover definition show resize", show_definition));
  Verb adding = add_part("register", "Register a job file without items as a definition, or as its next revision",
                         "drover definition register resize.yaml", add);
  adding.add_option("file", flags->file, "Job file without items, .yaml or .json; - is standard input")
      .type_name("FILE")
      .required();
  adding.add_option("--name", flags->name, "Name of the definition (default: the name in the file)").type_name("NAME");
  about_one(add_part("retire", "Retire a revision: no new job can be based on it", "drover definition retire resize:1",
                     retire));
}

}  // namespace drover
