// What a server, or somebody in its place, answers to a worker or to the CLI.
#include "fuzzed.h"
#include "wire/definition.h"
#include "wire/json_fields.h"
#include "wire/problem_json.h"
#include "wire/worker_protocol.h"

namespace drover {

void fuzz_one(std::string_view bytes) {
  if (const auto answer = decode_poll_answer(bytes)) {
    DROVER_CHECK(answer->items.size() == answer->answer.leases.size(), "every lease has its items");
  }
  static_cast<void>(decode_welcome(bytes));
  static_cast<void>(decode_job(bytes));
  if (const auto definition = definition_from_json(bytes)) {
    DROVER_CHECK(definition_from_json(definition_to_json(*definition)) == *definition, "a definition is read back");
  }
  static_cast<void>(json_fields(bytes));
  Choices choices(bytes);
  const int status = 400 + static_cast<int>(choices.below(200));
  DROVER_CHECK(!error_from_problem(status, choices.rest()).message.empty(), "there is something to tell");
}

}  // namespace drover
