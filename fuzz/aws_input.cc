// What AWS's clients send, in each protocol: an input that is accepted has the form that its description says, and
// comes back the same through the output.
#include <boost/json/object.hpp>
#include <string>

#include "base/check.h"
#include "base/url.h"
#include "fuzzed.h"
#include "wire/aws/input.h"
#include "wire/aws/output.h"

namespace drover {
namespace {

const aws::Operation& operation() {
  static const aws::Model model = *aws::Model::parse(
      "enum Colour RED | GREEN\n"
      "structure Pair\n"
      "  Name    string     required 1..8\n"
      "  Inner   Deep\n"
      "structure Deep\n"
      "  Values  [string]   ..3\n"
      "  More    {Pair}\n"
      "operation Paint\n"
      "  Colour  Colour\n"
      "  Pairs   [Pair]     ..3\n"
      "  Flat    [Pair]     flat as=Piece\n"
      "  Hints   {string}\n"
      "  Size    integer    2..10\n"
      "  Big     long\n"
      "  Wet     boolean\n"
      "  At      time\n"
      "  Data    blob\n");
  return *model.find("Paint");
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  if (bytes.empty()) return;
  const aws::Shape& shape = *operation().input;
  const std::string_view body = bytes.substr(1);
  if (bytes.front() == '0') {
    const auto read = aws::read_json_input(shape, body);
    if (!read) return;
    const auto again = aws::read_json_input(shape, aws::json_output(shape, *read));
    DROVER_CHECK(again && *again == *read, "an input comes back the same through the output");
    return;
  }
  const auto pairs = query_pairs(body);
  if (!pairs) return;
  const auto dialect = bytes.front() == '1' ? aws::QueryDialect::query : aws::QueryDialect::ec2;
  const auto read = aws::read_query_input(shape, *pairs, dialect);
  if (!read) return;
  DROVER_CHECK(aws::check_bounds(shape, *read).has_value(), "an input that is accepted is within its bounds");
  const aws::Operation echo{.name = "Paint", .input = &shape, .output = &shape};
  (void)aws::query_output(echo, *read, "urn:x", "id");
  (void)aws::ec2_output(echo, *read, "urn:x", "id");
}

}  // namespace drover
