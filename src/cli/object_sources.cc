#include "cli/object_sources.h"

#include "base/text.h"

namespace drover {
namespace {

bool uses_glob(const ObjectUri& place, const SourceRules& rules) {
  return rules.globs && place.scheme == ObjectUri::Scheme::s3 && is_glob(place.key);
}

/// What keys are relative to: up to the last slash.
std::size_t base_of(std::string_view prefix) {
  const std::size_t slash = prefix.rfind('/');
  return slash == std::string_view::npos ? 0 : slash + 1;
}

/// A directory of the machine is a store of its own.
ObjectUri as_directory(const ObjectUri& place) {
  if (place.scheme == ObjectUri::Scheme::file && !place.key.empty()) {
    return {place.scheme, concat(place.store == "/" ? "" : place.store, "/", place.key), ""};
  }
  return place.is_prefix() ? place : place.with_key(place.key + "/");
}

}  // namespace

bool means_several(const ObjectUri& place, const SourceRules& rules) {
  return rules.recursive || uses_glob(place, rules);
}

Result<void> each_page(ObjectStore& store, ListQuestion question, const std::stop_token& stop,
                       const std::function<Result<void>(const ListPage&)>& take) {
  while (true) {
    if (stop.stop_requested()) return fail(ErrorCode::stopped, "interrupted");
    auto page = store.list(question);
    if (!page) return pass(page);
    if (auto taken = take(*page); !taken) return taken;
    if (page->next.empty()) return {};
    question.after = page->next;
  }
}

Result<void> each_object(const StoreOpener& opener, const ObjectUri& place, const SourceRules& rules,
                         const std::stop_token& stop, const TakeObject& take) {
  const bool globs = uses_glob(place, rules);
  if (!globs && !rules.recursive) {
    if (place.is_prefix()) {
      return fail(ErrorCode::bad_input, concat(place.text(), " is not an object but everything below it"),
                  "to use all of it, add -r");
    }
    auto store = opener.open(place);
    if (!store) return pass(store);
    auto info = (*store)->head(place.key);
    if (!info) return pass(info);
    return take({place, *info, place.key.substr(base_of(place.key))});
  }
  const ObjectUri root = globs ? place : as_directory(place);
  auto store = opener.open(root);
  if (!store) return pass(store);
  const std::string prefix = globs ? std::string(literal_prefix(root.key)) : root.key;
  bool found = false;
  auto listed = each_page(**store, {.prefix = prefix}, stop, [&](const ListPage& page) -> Result<void> {
    for (const ObjectInfo& it : page.objects) {
      if (globs && !matches_glob(root.key, it.key)) continue;
      found = true;
      if (auto taken = take({root.with_key(it.key), it, it.key.substr(base_of(prefix))}); !taken) return taken;
    }
    return {};
  });
  if (!listed) return listed;
  if (found) return {};
  return fail(ErrorCode::not_found, concat("no object ", globs ? "matches " : "is below ", root.text()),
              concat("'drover objects ls ", root.with_key({}).text(), "' shows what is there"));
}

}  // namespace drover
