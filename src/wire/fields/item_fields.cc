// On which items.
#include "base/text.h"
#include "wire/fields/sections.h"
#include "wire/fields/storage.h"

namespace drover {
namespace {

// Of where its items come from a job says one; submission.cc reads it.
template <class Source>
std::string write_items(const JobField& field, const Submission& job) {
  const auto* source = std::get_if<Source>(&job.items);
  if (source == nullptr) return {};
  if constexpr (std::is_same_v<Source, NumberItems>) {
    return concat("[", source->first, ",", source->last, "]");
  } else if constexpr (std::is_same_v<Source, ManifestId>) {
    return concat(source->value);
  } else {
    return json_of(field, *source);
  }
}

}  // namespace

std::span<const JobField> item_fields() {
  using enum FieldKind;
  static constexpr JobField kFields[] = {
      {.name = "items",
       .kind = items,
       .example = "[\"a.png\", \"b.png\"]",
       .meaning = "The items: strings, or objects whose fields are placeholders",
       .stored = {.write = write_items<std::vector<std::string>>}},
      {.name = "items_file",
       .kind = text,
       .face = Face::file,
       .example = "\"list.txt\"",
       .meaning = "Read items from this file, one per line",
       .holds = "a path"},
      {.name = "range",
       .kind = range,
       .example = "[1, 1000]",
       .meaning = "Use the numbers from the first to the last as items",
       .stored = {.write = write_items<NumberItems>}},
      {.name = "dir",
       .kind = text,
       .face = Face::file,
       .example = "\"photos\"",
       .meaning = "Use the files below this directory as items, as absolute paths",
       .holds = "a path"},
      {.name = "match",
       .kind = text,
       .face = Face::file,
       .example = "\"*.jpg\"",
       .meaning = "With `dir`: use only files whose names match this pattern",
       .holds = "a pattern such as *.jpg"},
      {.name = "jsonl",
       .kind = text,
       .face = Face::file,
       .example = "\"frames.jsonl\"",
       .meaning = "Read items from this file as JSON objects, one per line; `{field}` is replaced by the field's value",
       .holds = "a path"},
      {.name = "manifest",
       .kind = whole,
       .face = Face::api,
       .example = "7",
       .meaning = "Use the list of items that was uploaded with `POST /api/v1/manifests`",
       .least = 1,
       .most = kMost64,
       .stored = {.write = write_items<ManifestId>}},
      {.name = "stream",
       .kind = text,
       .example = "\"photos\"",
       .meaning = "Use the messages of this stream as items: success deletes a message; the job runs until it is "
                  "cancelled, or with `until_empty` until the stream is empty",
       .pattern = "[A-Za-z0-9_\\-]{1,75}(\\.fifo)?",
       .holds = "the name of a stream: letters, digits, '_' and '-', at most 80 characters, with '.fifo' at the end if "
                "it is a FIFO stream",
       .flag = {FlagGroup::job, "NAME", "Use the messages of this stream as items"},
       .stored = kept_and_shown<&JobSpec::stream>()},
      {.name = "until_empty",
       .kind = flag,
       .example = "true",
       .meaning = "With `stream`: end the job when the stream is empty",
       .flag = {FlagGroup::job, {}, "With --stream: end the job when the stream is empty"},
       .stored = kept_and_shown<&JobSpec::until_empty>()},
      {.name = "item_kind",
       .kind = choice,
       .example = "\"json\"",
       .meaning = "Kind of the items: `text`, or `json` objects whose fields are placeholders",
       .pattern = "text|json",
       .stored = kept<&Definition::items>()},
      {.name = "download",
       .kind = flag,
       .example = "true",
       .meaning =
           "Download the object that each item names (`s3://`, `file://` or `https://`) before its attempt; "
           "placeholders and `$DROVER_INPUT` then name the local file. With JSON items the URI is the field `uri` "
           "(default: only if `drover submit` takes the items from a bucket's prefix)",
       .flag = {FlagGroup::job,
                {},
                "Download the object that each item names before its attempt; {} is the local file"},
       .stored = kept<&Definition::download>()},
      {.name = "output",
       .kind = text,
       .example = "\"s3://photos/out/\"",
       .meaning = "Upload the files that a successful attempt leaves in `$DROVER_OUTPUT_DIR` to this prefix; it may "
                  "contain placeholders. An attempt whose files cannot be uploaded fails",
       .most = 1024,
       .pattern = "(s3://[a-z0-9.\\-]{3,63}(/[\\s\\S]*)?|file:///[\\s\\S]*)",
       .holds = "s3://BUCKET/PREFIX/ or file:///DIRECTORY/",
       .flag = {FlagGroup::job, "URI", "Upload the files that attempts leave in $DROVER_OUTPUT_DIR to this prefix"},
       .stored = kept<&Definition::output>()},
      {.name = "map",
       .kind = map,
       .face = Face::file,
       .example = "{\"/mnt/data\": \"s3://bucket/data\"}",
       .meaning =
           "Replace paths at the beginning of items; only whole path components match, and the longest match applies"},
  };
  return kFields;
}

}  // namespace drover
