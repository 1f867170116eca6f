// Flags as an object, as if somebody had written them into a file: so that a flag and a field are read by the same code
// and refused for the same reasons.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/document.h"
#include "wire/job_reader.h"

namespace drover {

class TypedFields {
 public:
  /// What is typed replaces what is known already.
  explicit TypedFields(Node known = {.kind = Node::Kind::object}) : root_(std::move(known)) {}

  /// Nothing is put for what was not typed: an empty text, or where that may be typed too, none.
  void text(const char* name, const std::string& value);
  void text(const char* name, const std::optional<std::string>& value);
  void number(const char* name, const std::string& value);
  void number(const char* name, const std::optional<std::string>& value);
  void texts(const char* name, const std::vector<std::string>& values);
  void flag(const char* name, bool typed, bool value = true);
  void put(const char* name, Node value);
  void remove(const char* name);

  static Node text_node(const std::string& value);
  static Node number_node(const std::string& value);
  static Node flag_node(bool value);

  const Node& root() const { return root_; }
  const std::set<std::string, std::less<>>& said() const { return said_; }

 private:
  Node root_;
  std::set<std::string, std::less<>> said_;
};

/// "shm_size" is what --shm-size said, and "mounts[0].source" is about "mounts".
std::string field_name(const std::string& path);
std::string flag_name(std::string field);

/// A field's problem in the words of its flag.
Error flag_error(const JobProblem& problem, const std::string& flag, const char* verb);

}  // namespace drover
