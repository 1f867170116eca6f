// drover objects: what is in buckets, and copies between them and this machine.
#include "cli/objects_parts.h"

namespace drover {

void add_objects(const Verb& app, Invocation& invocation) {
  Verb verb = app.add_subcommand("objects", "List, copy and remove objects in S3 buckets, files and web sites");
  verb.require_subcommand(1);
  verb.footer(
      "Objects are named by URIs: s3://BUCKET/KEY, file:///PATH, https://HOST/PATH; paths are files of this machine.\n"
      "In keys, * and ? match within a path component and ** matches anything; quote them from the shell.\n"
      "Examples:\n"
      "  drover objects mb s3://pictures\n"
      "  drover objects cp -r photos/ s3://photos/in/\n"
      "  drover objects ls s3://photos/in/\n"
      "  drover objects cp 's3://photos/out/**.json' results/");
  add_objects_list(verb, invocation);
  add_objects_copy(verb, invocation);
  add_objects_print(verb, invocation);
  add_objects_show(verb, invocation);
  add_objects_remove(verb, invocation);
  add_objects_buckets(verb, invocation);
}

}  // namespace drover
