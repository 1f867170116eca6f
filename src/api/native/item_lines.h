// A list of items as it is uploaded: bytes cut into lines, or at NUL bytes, and handed on one by one.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ports/backend.h"
#include "ports/http.h"

namespace drover {

class ItemLines : public HttpBodySink {
 public:
  ItemLines(Backend& backend, char separator) : backend_(backend), separator_(separator) {}

  Result<void> take(std::string_view bytes) override;
  Result<void> finish() override;
  /// What became of it, when no more comes.
  Result<NewManifest> manifest() const;

 private:
  Result<void> cut(std::string_view bytes);
  Result<void> begin();
  Result<void> add(std::string_view item);

  Backend& backend_;
  const char separator_;
  std::unique_ptr<ItemIntake> intake_;
  std::string rest_;  // the beginning of an item
  std::optional<NewManifest> manifest_;
  std::optional<Error> failed_;
};

}  // namespace drover
