// drover objects stat: what a store says of an object.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/answer.h"
#include "cli/object_access.h"
#include "cli/objects_parts.h"
#include "cli/print.h"

namespace drover {
namespace json = boost::json;
namespace {

struct ObjectsShowFlags : ObjectFlags {
  std::string place;
};

json::object json_of(const ObjectUri& uri, const ObjectInfo& info) {
  json::object metadata;
  for (const auto& [name, value] : info.metadata) metadata[name] = utf8(value);
  return {
      {"uri", utf8(uri.text())}, {"size", info.size},         {"modified_ms", info.modified_ms}, {"type", info.type},
      {"etag", info.etag},       {"checksum", info.checksum}, {"metadata", std::move(metadata)}};
}

Result<int> show_object(const ObjectsShowFlags& flags) {
  auto place = object_place(flags.place);
  if (!place) return pass(place);
  if (place->is_prefix()) {
    return fail(ErrorCode::bad_input, concat(place->text(), " is not an object"),
                concat("to see what is below it, use 'drover objects ls ", place->text(), "'"));
  }
  auto opener = object_opener(flags);
  if (!opener) return pass(opener);
  auto store = opener->open(*place);
  if (!store) return pass(store);
  auto info = (*store)->head(place->key);
  if (!info) return pass(info);
  if (flags.common.json) {
    show("{}\n", json::serialize(json_of(*place, *info)));
    return kAllSucceeded;
  }
  const auto line = [](std::string_view name, const std::string& value) {
    if (!value.empty()) show("  {:<10} {}\n", name, utf8(value));
  };
  show("{}\n", utf8(place->text()));
  line("size", fmt::format("{} ({} bytes)", format_size(info->size), format_count(info->size)));
  line("modified", info->modified_ms == 0 ? "" : local_time(static_cast<std::uint64_t>(info->modified_ms)));
  line("type", info->type);
  line("etag", info->etag);
  line("checksum", info->checksum);
  for (const auto& [name, value] : info->metadata) line(name, value);
  return kAllSucceeded;
}

}  // namespace

void add_objects_show(const Verb& parent, Invocation& invocation) {
  auto flags = std::make_shared<ObjectsShowFlags>();
  Verb verb = parent.add_subcommand("stat", "Show size, time, type, checksum and metadata of an object");
  verb.add_option("uri", flags->place, "The object").type_name("URI").required();
  add_object_flags(verb, *flags);
  verb.footer("Example:\n  drover objects stat s3://photos/in/a.jpg");
  verb.callback([flags, &invocation] {
    auto done = show_object(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
