// How records enter the hash of the core's state.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/hash.h"
#include "core/queue.h"
#include "core/records.h"

namespace drover {

/// How each kind of field enters it.
struct FieldHasher {
  Hasher& hasher;

  void one(const std::string& value) { hasher.add(value); }
  void one(const Uuid& value) { hasher.add(value.text()); }
  void one(const ItemIndex& value) { hasher.add(value.value); }
  template <class Tag, class Rep>
  void one(const Id<Tag, Rep>& value) {
    hasher.add(std::uint64_t{value.value});
  }
  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void one(T value) {
    hasher.add(static_cast<std::uint64_t>(value));
  }
  void one(const std::vector<ExitRule>& rules) {
    hasher.add(rules.size());
    for (const ExitRule& rule : rules) {
      hasher.add(rule.on_status_reason);
      hasher.add(rule.on_reason);
      hasher.add(rule.on_exit_code);
      one(rule.action);
    }
  }
  void one(const Labels& labels) {
    hasher.add(labels.size());
    for (const auto& [name, value] : labels) {
      hasher.add(name);
      hasher.add(value);
    }
  }
  void one(const std::vector<Dependency>& after) {
    hasher.add(after.size());
    for (const Dependency& it : after) {
      one(it.job);
      one(it.each);
    }
  }
  void one(const std::shared_ptr<const ReopenChoice>& choice) {
    hasher.add(choice != nullptr);
    if (choice == nullptr) return;
    one(choice->failed);
    hasher.add(choice->items.size());
    for (const ItemIndex item : choice->items) one(item);
    optional(choice->exit_code);
    optional(choice->signal);
    optional(choice->ending);
  }
  template <class T>
  void optional(const std::optional<T>& value) {
    hasher.add(value.has_value());
    if (value) one(*value);
  }
  void one(const std::vector<ShareWeight>& weights) {
    hasher.add(weights.size());
    for (const ShareWeight& it : weights) {
      hasher.add(it.share);
      one(it.weight);
    }
  }
  void one(const std::vector<std::string>& words) {
    hasher.add(words.size());
    for (const std::string& word : words) hasher.add(word);
  }
  template <class T>
  void operator()(const char* /*name*/, const T& value) {
    one(value);
  }
};

template <class Record>
void add_record(Hasher& hasher, const Record& record) {
  Record::fields(record, FieldHasher{hasher});
}

}  // namespace drover
