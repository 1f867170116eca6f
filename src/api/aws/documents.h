// Documents as objects of JSON, for the APIs that keep their resources in them.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/command.h"
#include "ports/store.h"

namespace drover::aws {

struct Stored {
  std::string name;
  boost::json::object value;
  std::uint64_t version = 0;
  std::int64_t created_ms = 0;
};

inline Result<Stored> stored(const Document& document) {
  boost::json::error_code error;
  boost::json::value value = boost::json::parse(document.text, error);
  if (error || !value.is_object()) {
    return fail(ErrorCode::damaged, document.kind + " '" + document.name + "' cannot be read");
  }
  return Stored{document.name, std::move(value.get_object()), document.version, document.created_ms};
}

/// Documents of one kind.
class Documents {
 public:
  Documents(StoreReader& reader, std::string kind) : reader_(reader), kind_(std::move(kind)) {}

  /// Null if there is none.
  Result<std::unique_ptr<Stored>> find(const std::string& name) const {
    auto found = reader_.document(kind_, name);
    if (!found) return pass(found);
    const std::optional<Document>& document = *found;
    if (!document) return nullptr;
    auto read = stored(*document);
    if (!read) return pass(read);
    return std::make_unique<Stored>(std::move(*read));
  }

  /// By name.
  Result<std::vector<Stored>> all() const {
    auto found = reader_.documents(kind_);
    if (!found) return pass(found);
    std::vector<Stored> out;
    for (const Document& it : *found) {
      auto read = stored(it);
      if (!read) return pass(read);
      out.push_back(std::move(*read));
    }
    return out;
  }

  /// There must be none of the name yet.
  SetDocuments::Change add(const std::string& name, const boost::json::object& value) const {
    return {kind_, name, boost::json::serialize(value), 0};
  }
  /// It must be as it was read.
  SetDocuments::Change replace(const Stored& it) const {
    return {kind_, it.name, boost::json::serialize(it.value), it.version};
  }
  SetDocuments::Change remove(const Stored& it) const { return {kind_, it.name, std::nullopt, it.version}; }

 private:
  StoreReader& reader_;
  const std::string kind_;
};

}  // namespace drover::aws
