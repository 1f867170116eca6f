// What a definition says of the objects that its items read and write.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "objects/object_uri.h"
#include "wire/definition.h"
#include "worker/command_template.h"

namespace drover {

/// Whether items of the job read or write objects.
bool uses_staging(const Definition& definition);

struct JobStaging {
  bool downloads = false;
  bool json = false;                      // items are JSON: the URI is a field of them
  std::optional<CommandTemplate> output;  // of one word, the prefix; nothing: nothing is uploaded

  /// The URI of the object that the item names; empty: none is to be downloaded.
  Result<std::string> input_of(std::string_view item) const;
  /// The item as its command sees it: with the file in place of the URI.
  std::string item_with_file(std::string_view item, const std::string& path) const;
  /// Where the item's files are uploaded to; empty: they are not.
  Result<std::string> output_of(std::string_view item, ItemIndex index) const;
};
Result<JobStaging> make_job_staging(const Definition& definition);

/// What the file is called that an object is downloaded into: the last part of its key, so that commands see its
/// extension.
std::string staged_file_name(const ObjectUri& uri);

/// Whether all of that can be made of this item: said before anything runs.
Result<void> check_staging(const JobStaging& staging, std::string_view item, ItemIndex index);

}  // namespace drover
