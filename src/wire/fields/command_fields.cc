// What to run.
#include "wire/fields/sections.h"
#include "wire/fields/storage.h"

namespace drover {
namespace {

void read_command(JobReader& reader, const JobField& field, Submission& job) {
  reader.command(field.name, "shell", job.definition.command);
}

}  // namespace

std::span<const JobField> command_fields() {
  using enum FieldKind;
  static constexpr JobField kFields[] = {
      {.name = "name",
       .kind = text,
       .example = "\"nightly\"",
       .meaning = "Name of the job (default: name of its program or image)",
       .pattern = kName,
       .holds = kNameWords,
       .flag = {FlagGroup::job, "NAME"},
       .stored = kept<&JobSpec::name>()},
      {.name = "definition",
       .kind = text,
       .example = "\"render:3\"",
       .meaning = "Definition that the job is based on, NAME or NAME:REVISION; fields of the job override those of the "
                  "definition, and `environment` is merged variable by variable",
       .pattern = "(?!\\.\\.?(:|$))[A-Za-z0-9_.\\-]{1,128}(:[1-9][0-9]{0,8})?",
       .holds = "a definition's name, or NAME:REVISION",
       .flag = {FlagGroup::job, "DEFINITION", "Base the job on this definition: NAME or NAME:REVISION"},
       .stored = kept<&JobSpec::named_definition>()},
      {.name = "command",
       .kind = command,
       .example = "[\"./process\", \"{}\"]",
       .meaning = "Command and its arguments, with placeholders such as `{}` for the item; with `shell: true` it can "
                  "be a single string",
       .stored = {.read = read_command, .write = write<&Definition::command>}},
      {.name = "shell",
       .kind = flag,
       .example = "true",
       .meaning = "Run the command as a `/bin/sh` command line; items are quoted when inserted",
       .stored = kept<&Definition::shell>()},
      {.name = "literal",
       .kind = flag,
       .example = "true",
       .meaning = "Run the command exactly as written: braces are not placeholders, and the item is not added as an "
                  "argument; the item is in `$DROVER_ITEM`",
       .stored = kept<&Definition::literal>()},
      {.name = "workdir",
       .kind = text,
       .example = "\"/data\"",
       .meaning = "Working directory of the command on the worker's machine; in a job file, a relative path is "
                  "relative to the file's directory",
       .holds = "a path",
       .stored = kept<&Definition::workdir>()},
      {.name = "environment",
       .kind = settings,
       .example = "{\"MODE\": \"fast\"}",
       .meaning = "Environment variables for the command",
       .stored = kept<&Definition::environment>()},
      {.name = "role",
       .kind = text,
       .example = "\"trainer\"",
       .meaning = "Role whose policies say what AWS clients may do inside the job's attempts: its name or ARN; see "
                  "aws-batch.md",
       .most = 2048,
       .holds = "a role's name or ARN",
       .stored = kept<&Definition::role>()},
      {.name = "aws_batch",
       .kind = text,
       .face = Face::api,
       .example = "\"{}\"",
       .meaning = "Properties given through the AWS Batch API, as JSON; only that API sets them",
       .holds = "JSON in a string",
       .stored = kept<&Definition::aws_batch>()},
  };
  return kFields;
}

}  // namespace drover
