// Where the items of a run come from.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "objects/store_opener.h"

namespace drover {

/// Lines of a file, or of standard input for "-". Empty lines are passed over.
struct LinesSource {
  std::string path;
  char end = '\n';                 // or NUL, and then empty items count
  std::string_view noun = "item";  // what a line is called in errors
  bool takes_nul = false;          // a line may have NUL bytes in it
};
struct WordsSource {
  std::vector<std::string> words;
};
/// Files below a folder, in the order of their names.
struct FolderSource {
  std::string path;
  std::string match;  // a glob for the file's name; with a slash in it, for its path below the folder
};
struct RangeSource {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::uint64_t count() const { return static_cast<std::uint64_t>(last - first) + 1; }
};
/// URIs of all objects below a prefix or that match a pattern; of any other object, its lines.
struct ObjectSource {
  ObjectUri uri;
  char end = '\n';
  std::shared_ptr<const StoreOpener> opener = nullptr;  // set before it is read: see open_source()
};
using ItemSource = std::variant<LinesSource, WordsSource, FolderSource, RangeSource, ObjectSource>;

using TakeItem = std::function<Result<void>(std::string_view)>;

/// Reads every item, in order, holding only a few in memory. Asked to stop, it ends with an error.
Result<void> read_items(const ItemSource& source, const TakeItem& take, const std::stop_token& stop = {});

/// Lines of a file, of standard input, or of what a URI names.
Result<ItemSource> lines_or_objects(const std::string& path_or_uri, char end);

/// "1-1000000"
Result<RangeSource> parse_range(const std::string& text);

}  // namespace drover
