// What a service's clients may say and what they are answered: each operation with the members of its input and output.
// A service describes its operations once, in a short text; decoding, validation and encoding follow it, in whatever
// protocol a client speaks.
//
//   enum JobStatus SUBMITTED | PENDING | RUNNABLE
//
//   structure KeyValuePair
//     name   string
//     value  string
//
//   operation SubmitJob POST /v1/submitjob
//     jobName      string          required 1..128
//     environment  [KeyValuePair]  ..100
//     parameters   {string}
//   returns
//     jobId        string          required
//
// Types: string, integer, long, double, boolean, time, blob; the name of a structure or enum; [T], a list; {T}, a map
// from strings; any, whatever JSON was sent. Behind the type, in any order:
//   required      the member must be there
//   A..B          length of a string, number of elements, or value of a number; either end may be missing
//   uri           stands in the path; query, header: there, under the name on the wire
//   as=NAME       its name on the wire, where that differs
//   xml=NAME      its name in the Query protocol, of a service that has JSON as well
//   flat          of a list or map in the Query protocol: its elements stand side by side, without a "member" around
//                 them
//   keys=K,V      what the key and the value of a map's entry are called in the Query protocol; key,value if not said
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drover::aws {

enum class Kind : std::uint8_t { string, integer, long_integer, real, boolean, time, blob, list, map, structure, any };

struct Member;

struct Shape {
  Kind kind = Kind::string;
  std::string name;                // of a structure or an enum
  std::vector<std::string> words;  // of an enum; empty: any string
  std::vector<Member> members;     // of a structure
  const Shape* element = nullptr;  // of a list or a map

  const Member* find(std::string_view member) const;
};

enum class Location : std::uint8_t { body, path, query, header };

struct Member {
  std::string name;
  const Shape* shape = nullptr;
  bool required = false;
  bool flat = false;
  std::optional<double> least;
  std::optional<double> most;
  Location location = Location::body;
  std::string wire_name;         // the same as `name` unless described otherwise
  std::string query_name;        // in the Query protocol: the same as `wire_name` unless described otherwise
  std::string key_name = "key";  // of a map, in the Query protocol
  std::string value_name = "value";
};

struct Operation {
  std::string name;
  std::string method;  // of a REST protocol; else empty
  std::string path;    // "/v1/tags/{resourceArn}"
  const Shape* input = nullptr;
  const Shape* output = nullptr;
};

class Model {
 public:
  /// The error names the line.
  static Result<Model> parse(std::string_view text);

  const Operation* find(std::string_view operation) const;
  const std::map<std::string, Operation, std::less<>>& operations() const { return operations_; }

 private:
  friend class ModelText;

  std::deque<Shape> shapes_;  // they point at one another
  std::map<std::string, Operation, std::less<>> operations_;
};

}  // namespace drover::aws
