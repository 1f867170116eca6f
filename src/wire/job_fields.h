// The fields of a job, in one table (wire/fields/*_fields.cc): what each is called, what it may hold, what it means,
// how it is typed on a command line, and where it is kept. The API's JSON, job files, flags, views, the JSON Schema,
// tables of the documentation and the words of errors are all made from it.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace drover {

enum class FieldKind : std::uint8_t {
  text,          // that matches `pattern`, if there is one
  flag,          // true or false
  whole,         // a number from `least` to `most`
  real,          // the same, in thousandths
  time,          // "30s": `least` to `most` milliseconds
  size,          // "512MiB": at least `least` bytes; where `most` is 0, 0 is one as well
  choice,        // one of the words in `pattern`, with | between them
  command,       // a list of words, or one text for the shell
  settings,      // an object of variables and their values
  labels,        // an object of labels
  texts,         // a list of texts; whoever reads them holds each to what `pattern` says of it
  accelerators,  // an object of kinds and counts
  after,         // a list of jobs
  rules,         // a list of rules on exit
  items,         // a list of texts or objects
  range,         // [1, 1000] or "1-1000"
  map,           // an object of paths and what they become
};

/// Where a field can be said.
enum class Face : std::uint8_t { everywhere, api, file };

/// The section of the documentation that it stands in.
enum class Section : std::uint8_t { command, items, container, resources, queueing, failures };

/// Which verbs have its flag: `run` and `submit` have those of limits, container and policy; `resume` and `retry` those
/// of limits and policy; `submit` alone those of the job.
enum class FlagGroup : std::uint8_t { none, limits, container, policy, job };

/// A flag that is made from the field. Flags that do more than set a field are in cli/.
struct FieldFlag {
  FlagGroup group = FlagGroup::none;
  std::string_view value = {};  // what help calls the value; empty: as its kind says
  std::string_view help = {};   // empty: the field's meaning
  std::string_view name = {};   // empty: the field's; --no-NAME sets false
};

struct JobField;
class JobReader;
struct JobSpec;
struct Submission;

/// Where its value is kept. nullptr: it is read, written or shown together with others (submission.cc, job_file.cc).
struct FieldStorage {
  /// What is said, over what the submission says by now.
  void (*read)(JobReader&, const JobField&, Submission&) = nullptr;
  /// As JSON; empty: there is nothing to write.
  std::string (*write)(const JobField&, const Submission&) = nullptr;
  /// In the view of a job.
  boost::json::value (*show)(const JobField&, const JobSpec&) = nullptr;
};

struct JobField {
  std::string_view name;
  FieldKind kind = FieldKind::text;
  Face face = Face::everywhere;
  std::string_view example;  // as JSON writes it
  std::string_view meaning;  // a sentence for people who write one
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::string_view pattern = {};  // a regular expression for the whole text
  std::string_view holds = {};    // the pattern in words
  FieldFlag flag = {};
  FieldStorage stored = {};
  Section section = Section::command;
};

/// In the order in which people want to read them.
std::span<const JobField> job_fields();
/// Or nullptr.
const JobField* find_job_field(std::string_view name);
bool is_for(const JobField& field, Face face);

/// How a time and a size are written as a text (base/units.h), as regular expressions. A bare number is a number, and
/// has no quotes.
inline constexpr std::string_view kTimePattern = "([0-9]+(\\.[0-9]+)?([mM][sS]|[sS]|[mM]|[hH]|[dD]))+";
inline constexpr std::string_view kSizePattern = "[0-9]+(\\.[0-9]+)?([kKmMgGtT]?[bB]|[kKmMgGtT]([iI][bB]?)?)";
inline constexpr std::string_view kNumberPattern = "[0-9]+(\\.[0-9]+)?";

inline constexpr std::int64_t kMostAccelerators = 1'000'000;

/// What the field can hold, in words: "a whole number from 0 to 9999".
std::string what_it_takes(const JobField& field);

/// Whether it says what the items are.
bool is_source(std::string_view name);
/// Whether a file may have it with nothing behind it, as if it were not said. Not an image: items whose container was
/// meant to be filled in would run on the machine itself.
bool may_be_null(const JobField& field);

/// The words of a choice.
std::vector<std::string_view> choices_of(const JobField& field);
/// Its name in the view of a job: "job_timeout_ms".
std::string shown_name(const JobField& field);
/// "--max-running"
std::string flag_of(const JobField& field);
/// Whether its flag may be given more than once.
bool is_repeatable(const JobField& field);
/// What help calls the flag's value: "N"; empty: it has none.
std::string flag_value(const JobField& field);

/// The field that somebody probably meant who wrote one that there is none of; or empty.
std::string_view meant_field(std::string_view written);
/// The same for any list of words: the nearest of them, if it is near; or empty.
std::string_view nearest(std::string_view written, std::span<const std::string_view> words);

}  // namespace drover
