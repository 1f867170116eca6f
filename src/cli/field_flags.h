// The flags that are fields of a job, made from the table of fields (wire/job_fields.h). What was typed is read as if
// it stood in a job file, and refused in the same words.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/verb_options.h"
#include "wire/submission.h"

namespace drover {

class FieldFlags {
 public:
  /// Declares the flags of these fields. What is parsed goes into this object: it must stay where it is.
  void add(const Verb& verb, FlagGroup group);

  /// Whether any of them was typed.
  bool any() const;
  /// What was typed for a field, or nothing.
  const std::optional<std::string>& word(std::string_view field) const;

  /// Puts what was typed over what the job says. Of variables, labels and accelerators each counts for itself.
  Result<void> apply(Submission& job) const;

 private:
  struct Typed {
    const JobField* field = nullptr;
    bool flag = false;
    std::optional<std::string> word;  // there and empty, by --image "$UNSET", is refused
    std::vector<std::string> words;

    bool is_typed() const { return flag || word || !words.empty(); }
  };
  static Result<Node> node_of(const Typed& typed);

  std::deque<Typed> typed_;  // the parser has their addresses
};

/// What is wrong with a field, in the words of its flag.
Error flag_error(const JobProblem& problem, const std::string& flag, const std::string& example);

}  // namespace drover
