// Files of a folder as objects: a key is a path below it. What is put is written beside it and moved into its place.
#pragma once

#include <string>
#include <vector>

#include "ports/objects.h"

namespace drover {

class FileStore : public ObjectStore {
 public:
  /// The folder need not be there yet.
  explicit FileStore(std::string folder) : folder_(std::move(folder)) {}

  std::string name() const override;
  Result<ObjectInfo> head(const std::string& key) override;
  Result<ObjectInfo> get(const std::string& key, const ObjectRange& range,
                         const std::function<Result<void>(std::string_view)>& take) override;
  Result<ListPage> list(const ListQuestion& question) override;
  Result<ObjectInfo> put(const ObjectInfo& object, const ObjectBytes& bytes) override;
  Result<void> remove(const std::string& key) override;
  Result<ObjectInfo> copy(const std::string& from, const std::string& to) override;
  Result<std::string> begin_upload(const ObjectInfo& object) override;
  Result<UploadedPart> upload_part(const std::string& key, const std::string& upload, std::uint32_t number,
                                   const std::string& bytes) override;
  Result<ObjectInfo> complete_upload(const std::string& key, const std::string& upload,
                                     const std::vector<UploadedPart>& parts) override;
  Result<void> abort_upload(const std::string& key, const std::string& upload) override;

 private:
  /// Of a key that stays below the folder.
  Result<std::string> path_of(const std::string& key) const;
  /// A folder beside the file, for its parts.
  static std::string parts_of(const std::string& path, const std::string& upload);

  const std::string folder_;
};

}  // namespace drover
