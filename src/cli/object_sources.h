// The objects that words on the command line mean: one, all below a prefix or directory, or those that match a pattern.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "objects/object_uri.h"
#include "objects/store_opener.h"

namespace drover {

/// What makes a place mean several objects.
struct SourceRules {
  bool recursive = false;
  bool globs = true;  // `*` and `?` in keys are wildcards
};

struct FoundObject {
  ObjectUri uri;
  ObjectInfo info;
  std::string relative;  // its key below what was named
};
using TakeObject = std::function<Result<void>(const FoundObject&)>;

/// Whether the place may mean more than one object.
bool means_several(const ObjectUri& place, const SourceRules& rules);

/// In the order of their keys. A place without objects is an error.
Result<void> each_object(const StoreOpener& opener, const ObjectUri& place, const SourceRules& rules,
                         const std::stop_token& stop, const TakeObject& take);

/// All pages of a list.
Result<void> each_page(ObjectStore& store, ListQuestion question, const std::stop_token& stop,
                       const std::function<Result<void>(const ListPage&)>& take);

}  // namespace drover
