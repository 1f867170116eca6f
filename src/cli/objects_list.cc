// drover objects ls: buckets, or what is below a prefix.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/answer.h"
#include "cli/object_access.h"
#include "cli/object_sources.h"
#include "cli/objects_parts.h"
#include "cli/print.h"
#include "worker/stop_on_signal.h"

namespace drover {
namespace json = boost::json;
namespace {

struct ObjectsListFlags : ObjectFlags {
  std::string place;
  bool recursive = false;
  bool no_glob = false;
};

json::object json_of(const FoundObject& it) {
  json::object out{{"uri", utf8(it.uri.text())},
                   {"key", utf8(it.uri.key)},
                   {"size", it.info.size},
                   {"modified_ms", it.info.modified_ms}};
  if (!it.info.etag.empty()) out["etag"] = it.info.etag;
  return out;
}

void print_row(const std::string& size, std::int64_t modified_ms, const std::string& name) {
  show("{:>12}  {:<19}  {}\n", size, modified_ms == 0 ? "" : local_time(static_cast<std::uint64_t>(modified_ms)),
       utf8(name));
}

void print_object(const ObjectsListFlags& flags, const FoundObject& it, const std::string& name) {
  if (flags.common.json) return show("{}\n", json::serialize(json_of(it)));
  if (flags.common.quiet) return show("{}\n", utf8(it.uri.text()));
  print_row(format_size(it.info.size), it.info.modified_ms, name);
}

Result<int> list_buckets(const StoreOpener& opener, const ObjectsListFlags& flags) {
  auto store = opener.open_bucket({});
  if (!store) return pass(store);
  auto buckets = (*store)->list_buckets();
  if (!buckets) return pass(buckets);
  for (const S3Store::Bucket& it : *buckets) {
    if (flags.common.json) {
      show("{}\n", json::serialize(json::object{{"uri", concat("s3://", it.name)}, {"created_ms", it.created_ms}}));
    } else if (flags.common.quiet) {
      show("s3://{}\n", it.name);
    } else {
      print_row("bucket", it.created_ms, it.name);
    }
  }
  return kAllSucceeded;
}

/// One level, as in a directory.
Result<void> list_level(const StoreOpener& opener, const ObjectsListFlags& flags, const ObjectUri& place,
                        const std::stop_token& stop) {
  auto store = opener.open(place);
  if (!store) return pass(store);
  const std::size_t slash = place.key.rfind('/');
  const std::size_t base = slash == std::string::npos ? 0 : slash + 1;
  bool found = false;
  auto listed =
      each_page(**store, {.prefix = place.key, .delimiter = "/"}, stop, [&](const ListPage& page) -> Result<void> {
        for (const std::string& prefix : page.prefixes) {
          found = true;
          const std::string uri = place.with_key(prefix).text();
          if (flags.common.json) {
            show("{}\n", json::serialize(json::object{{"uri", utf8(uri)}, {"prefix", true}}));
          } else if (flags.common.quiet) {
            show("{}\n", utf8(uri));
          } else {
            print_row("", 0, prefix.substr(base));
          }
        }
        for (const ObjectInfo& it : page.objects) {
          found = true;
          print_object(flags, {place.with_key(it.key), it, {}}, it.key.substr(base));
        }
        return {};
      });
  if (!listed || found || place.key.empty()) return listed;
  return fail(ErrorCode::not_found, concat("no object begins with ", place.text()),
              concat("'drover objects ls ", place.with_key({}).text(), "' shows what is there"));
}

Result<int> list_objects(const ObjectsListFlags& flags) {
  auto place = flags.place.empty() ? Result<ObjectUri>(ObjectUri{}) : object_place(flags.place);
  if (!place) return pass(place);
  auto opener = object_opener(flags);
  if (!opener) return pass(opener);
  if (place->scheme == ObjectUri::Scheme::s3 && place->store.empty()) return list_buckets(*opener, flags);
  const StopOnSignal signals;
  const SourceRules rules{.recursive = flags.recursive, .globs = !flags.no_glob};
  if (!means_several(*place, rules)) {
    if (auto listed = list_level(*opener, flags, *place, signals.token()); !listed) return pass(listed);
    return kAllSucceeded;
  }
  auto listed = each_object(*opener, *place, rules, signals.token(), [&](const FoundObject& it) -> Result<void> {
    print_object(flags, it, it.relative);
    return {};
  });
  if (!listed) return pass(listed);
  return kAllSucceeded;
}

}  // namespace

void add_objects_list(const Verb& parent, Invocation& invocation) {
  auto flags = std::make_shared<ObjectsListFlags>();
  Verb verb = parent.add_subcommand("ls", "List buckets, or the objects below a prefix");
  verb.add_option("uri", flags->place, "What to list (default: all buckets)").type_name("URI");
  add_object_flags(verb, *flags);
  verb.add_flag("-r,--recursive", flags->recursive, "List everything below the prefix, not just one level");
  verb.add_flag("--no-glob", flags->no_glob, "Take * and ? in keys literally");
  verb.footer(
      "Examples:\n"
      "  drover objects ls\n"
      "  drover objects ls s3://photos/in/\n"
      "  drover objects ls -r --json s3://photos\n"
      "  drover objects ls 's3://photos/**.jpg'");
  verb.callback([flags, &invocation] {
    auto done = list_objects(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
