// Reads the fields of a job, one by one, against the table of what they may hold. Everything that is wrong is gathered,
// not only the first.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/resources.h"
#include "base/result.h"
#include "core/policy.h"
#include "wire/document.h"
#include "wire/job_fields.h"

namespace drover {

/// One thing that is wrong with a job.
struct JobProblem {
  Position place;
  std::string field;  // its path: "accelerators.nvidia", "after[2]"; empty: the whole of it
  std::string what;   // "is the string \"3\", not a whole number from 0 to 9999"
  std::string next;   // what to do about it

  /// "field 'after[2]' is …"
  std::string message() const;
};

/// A job that must succeed first.
struct After {
  std::string job;    // its id, a unique beginning of it, or its name
  bool each = false;  // every item waits for the item of the same index only

  bool operator==(const After&) const = default;
};

class JobReader {
 public:
  JobReader(const Node& root, Face face) : root_(root), face_(face) {}

  /// The field, if it is said. What is null is not.
  const Node* find(std::string_view name);
  bool has(std::string_view name) const;
  Face face() const { return face_; }

  void text(std::string_view name, std::string& out);
  void flag(std::string_view name, bool& out);
  template <class Number>
  void whole(std::string_view name, Number& out) {
    if (const Node* node = find(name)) {
      std::int64_t value = 0;
      if (whole_of(*node, name, *find_job_field(name), value)) out = static_cast<Number>(value);
    }
  }
  /// A time in milliseconds, a size in bytes, or a number in thousandths, as the field's kind says.
  void measure(const JobField& field, std::int64_t& out);
  void command(std::string_view name, std::string_view shell, std::vector<std::string>& out);
  void settings(std::string_view name, std::vector<std::pair<std::string, std::string>>& out);
  void labels(std::string_view name, Labels& out);
  /// A list of texts. False: it is not said.
  bool texts(std::string_view name, std::vector<std::string>& out);
  void accelerators(std::string_view name, std::array<std::uint64_t, kAccelerators>& out);
  void rules(std::string_view name, std::vector<ExitRule>& out);
  void range(std::string_view name, std::int64_t& first, std::int64_t& last);
  /// True when they are objects.
  bool items(std::string_view name, std::vector<std::string>& out);
  void after(std::string_view name, std::vector<After>& out);
  /// Paths and what they become.
  void map(std::string_view name, std::vector<std::pair<std::string, std::string>>& out);

  void complain(const Node& at, std::string_view path, std::string what, std::string next = {});
  /// Of one text in a list of them: "is …".
  void complain_of_text(std::string_view name, std::size_t index, const Error& error);
  /// Of the whole of it.
  void complain(std::string what, std::string next);
  /// A field that should be there.
  void missing(std::string_view name, std::string what, std::string next);

  /// What was wrong, in the order in which it stands. Every field of the table has been asked for by now.
  std::vector<JobProblem> done();
  /// What is wrong so far, as it was found.
  const std::vector<JobProblem>& problems() const { return problems_; }
  /// The fields that were said.
  std::set<std::string, std::less<>> said() const;

 private:
  bool is_known(std::string_view name) const;
  bool whole_of(const Node& node, std::string_view path, const JobField& field, std::int64_t& out);
  bool text_of(const Node& node, std::string_view path, std::string_view takes, std::string& out);
  void real_of(const Node& node, const JobField& field, std::int64_t& out);
  void time_of(const Node& node, const JobField& field, std::int64_t& out);
  void size_of(const Node& node, const JobField& field, std::int64_t& out);
  bool is_object(const Node& node, std::string_view path, std::string_view example);
  bool is_list(const Node& node, std::string_view path, std::string_view example);
  void wrong_kind(const Node& node, std::string_view path, std::string_view takes, std::string next);
  void find_nulls();
  void find_doubles();
  void find_unknown();

  const Node& root_;
  const Face face_;
  std::set<std::string, std::less<>> asked_;
  std::vector<JobProblem> problems_;
};

}  // namespace drover
