#include "accel/cdi_registry.h"

#include <set>

#include "accel/root_folder.h"
#include "base/text.h"

namespace drover {

CdiRegistry CdiRegistry::scan(const std::vector<std::string>& folders) {
  CdiRegistry out;
  const auto machine = RootFolder::open("/");
  for (std::size_t i = 0; machine && i < folders.size(); ++i) {
    for (const std::string& name : machine->names_in(folders[i])) {
      if (name.ends_with(".json") || name.ends_with(".yaml")) out.take(concat(folders[i], "/", name), i);
    }
  }
  return out;
}

void CdiRegistry::take(const std::string& path, std::size_t folder) {
  const auto machine = RootFolder::open("/");
  const auto text = machine ? machine->read(path) : std::nullopt;
  if (!text) return problems_.push_back({path, "cannot be read"});
  auto spec = cdi_from_text(*text, path.ends_with(".json"));
  if (!spec) return problems_.push_back({path, spec.error().message});
  const std::size_t number = specs_.size();
  for (std::size_t i = 0; i < spec->devices.size(); ++i) {
    const std::string name = concat(spec->kind, "=", spec->devices[i].name);
    const auto [it, is_new] = places_.try_emplace(name, Place{number, i, folder});
    if (is_new) continue;
    if (it->second.folder == folder) {
      it->second.is_in_conflict = true;
      problems_.push_back({path, concat("names ", name, " as ", paths_[it->second.spec], " does")});
      problems_.push_back({paths_[it->second.spec], concat("names ", name, " as ", path, " does")});
    } else {
      it->second = Place{number, i, folder};
    }
  }
  specs_.push_back(std::move(*spec));
  paths_.push_back(path);
}

std::vector<std::string> CdiRegistry::names() const {
  std::vector<std::string> out;
  for (const auto& [name, place] : places_) {
    if (!place.is_in_conflict) out.push_back(name);
  }
  return out;
}

Result<CdiEdits> CdiRegistry::resolve(const std::vector<std::string>& names) const {
  std::string unknown;
  CdiEdits edits;
  std::set<std::size_t> applied;
  for (const std::string& name : names) {
    const auto it = places_.find(name);
    if (it == places_.end() || it->second.is_in_conflict) {
      unknown += concat(unknown.empty() ? "" : ", ", name);
      continue;
    }
    const CdiSpec& spec = specs_[it->second.spec];
    if (applied.insert(it->second.spec).second) edits.add(spec.edits);
    edits.add(spec.devices[it->second.device].edits);
  }
  if (unknown.empty()) return edits;
  std::string message = concat("no CDI file names ", unknown);
  for (const Problem& problem : problems_) message += concat("; ", problem.path, ": ", problem.what);
  std::string known;
  for (const std::string& name : this->names()) known += concat(known.empty() ? "" : ", ", name);
  return fail(ErrorCode::not_found, std::move(message),
              known.empty() ? "create the files: drover accel cdi --write" : concat("the known devices are ", known));
}

}  // namespace drover
