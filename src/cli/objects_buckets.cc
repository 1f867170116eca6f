// drover objects mb, rb: make and remove buckets.
#include <boost/json.hpp>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/object_access.h"
#include "cli/objects_parts.h"

namespace drover {
namespace {

struct ObjectsBucketsFlags : ObjectFlags {
  std::string place;
};

using OnBucket = std::function<Result<void>(S3Store&)>;

Result<int> change_bucket(const ObjectsBucketsFlags& flags, const OnBucket& change, std::string_view done) {
  auto place = parse_object_uri(flags.place);
  if (!place) return pass(place);
  if (place->scheme != ObjectUri::Scheme::s3 || place->store.empty() || !place->key.empty()) {
    return fail(ErrorCode::bad_input, concat("'", flags.place, "' does not name a bucket"), "write s3://BUCKET");
  }
  auto opener = object_opener(flags);
  if (!opener) return pass(opener);
  auto store = opener->open_bucket(place->store);
  if (!store) return pass(store);
  if (auto changed = change(**store); !changed) return pass(changed);
  return tell(flags.common, boost::json::object{{"bucket", place->store}, {std::string(done), true}},
              concat("bucket '", place->store, "' ", done));
}

void add_on_bucket(const Verb& parent, Invocation& invocation, const char* name, const char* help, const char* example,
                   std::string_view done, OnBucket change) {
  auto flags = std::make_shared<ObjectsBucketsFlags>();
  Verb verb = parent.add_subcommand(name, help);
  verb.add_option("uri", flags->place, "The bucket: s3://BUCKET").type_name("URI").required();
  add_object_flags(verb, *flags);
  verb.footer(concat("Example:\n  ", example));
  verb.callback([flags, &invocation, done, change = std::move(change)] {
    auto changed = change_bucket(*flags, change, done);
    invocation.exit_status = changed ? *changed : failure(changed.error());
  });
}

}  // namespace

void add_objects_buckets(const Verb& parent, Invocation& invocation) {
  add_on_bucket(parent, invocation, "mb", "Make a bucket", "drover objects mb s3://sketches", "created",
                [](S3Store& store) { return store.create_bucket(); });
  add_on_bucket(parent, invocation, "rb", "Remove an empty bucket", "drover objects rb s3://sketches", "removed",
                [](S3Store& store) { return store.delete_bucket(); });
}

}  // namespace drover
