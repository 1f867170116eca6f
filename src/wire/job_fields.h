// The fields of a job, in one table: what each is called, what it may hold, and what it means. The API's JSON, job
// files, their JSON Schema and the words of errors are all made from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

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

/// The kinds of accelerators, in the order in which they are counted.
inline constexpr std::string_view kAcceleratorKinds[] = {"nvidia", "amd", "neuron"};
inline constexpr std::int64_t kMostAccelerators = 1'000'000;

/// What the field can hold, in words: "a whole number from 0 to 9999".
std::string what_it_takes(const JobField& field);

/// Whether it says what the items are.
bool is_source(std::string_view name);
/// Whether a file may have it with nothing behind it, as if it were not said. Not an image: items whose container was
/// meant to be filled in would run on the machine itself.
bool may_be_null(const JobField& field);

/// Whether it says what the items' container is like.
bool is_of_container(std::string_view name);

/// The field that somebody probably meant who wrote one that there is none of; or empty.
std::string_view meant_field(std::string_view written);
/// The same for any list of words: the nearest of them, if it is near; or empty.
std::string_view nearest(std::string_view written, std::span<const std::string_view> words);

}  // namespace drover
