#include "provide/command_provider.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <optional>

#include "base/name.h"
#include "base/text.h"
#include "base/units.h"
#include "provide/shape_flags.h"

namespace drover {
namespace {

namespace json = boost::json;

constexpr double kMostDollars = 1e6;  // an hour

/// What a program has answered: each member is asked for once, and the first that is wrong is the error.
class Answer {
 public:
  Answer(const json::object& object, std::string what) : object_(object), what_(std::move(what)) {}

  std::string text(const char* name, bool is_needed = true) {
    const json::value* value = find(name, is_needed);
    if (value == nullptr) return {};
    if (value->is_string()) return std::string(value->get_string());
    complain(name, "is not a string");
    return {};
  }
  bool flag(const char* name) {
    const json::value* value = find(name, false);
    if (value == nullptr) return false;
    if (value->is_bool()) return value->get_bool();
    complain(name, "is neither true nor false");
    return false;
  }
  /// `scale`: what one of it is kept as.
  std::uint64_t number(const char* name, double scale, bool is_needed) {
    const json::value* value = find(name, is_needed);
    if (value == nullptr) return 0;
    json::error_code error;
    const double number = value->is_number() ? value->to_number<double>(error) : -1;
    if (number >= 0 && number * scale < 1e18) return static_cast<std::uint64_t>(number * scale);
    complain(name, "is not a number, or is too large");
    return 0;
  }
  /// Dollars, as micro-dollars.
  std::optional<std::int64_t> price(const char* name) {
    const json::value* value = find(name, false);
    if (value == nullptr) return std::nullopt;
    json::error_code error;
    const double dollars = value->is_number() ? value->to_number<double>(error) : -1;
    if (dollars >= 0 && dollars <= kMostDollars) return std::llround(dollars * 1e6);
    complain(name, "is not a valid price: use dollars per hour, at most 1000000");
    return std::nullopt;
  }
  /// In bytes, or as in "16GiB".
  std::uint64_t size(const char* name) {
    const json::value* value = find(name, false);
    if (value == nullptr || !value->is_string()) return number(name, 1, false);
    const auto bytes = parse_size(std::string(value->get_string()));
    if (!bytes) complain(name, "is not a size such as \"16GiB\"");
    return bytes.value_or(0);
  }
  const json::array* list(const char* name) {
    const json::value* value = find(name, true);
    if (value == nullptr) return nullptr;
    if (value->is_array()) return &value->get_array();
    complain(name, "is not a list");
    return nullptr;
  }
  const json::object* object(const char* name) {
    const json::value* value = find(name, false);
    if (value == nullptr) return nullptr;
    if (value->is_object()) return &value->get_object();
    complain(name, "is not an object");
    return nullptr;
  }
  void complain(const char* name, std::string_view problem) {
    if (!error_) error_ = Error{ErrorCode::io, concat(what_, ": '", name, "' ", problem)};
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  const json::value* find(const char* name, bool is_needed) {
    const json::value* value = object_.if_contains(name);
    if (value != nullptr && !value->is_null()) return value;
    if (is_needed) complain(name, "is missing");
    return nullptr;
  }

  const json::object& object_;
  const std::string what_;
  std::optional<Error> error_;
};

/// What the program answers to a question. Nothing is as good as an empty object.
Result<json::object> ask(const std::string& program, const char* word, const json::object& question,
                         const ScriptLimits& limits, const std::stop_token& stop) {
  auto said = run_script({program, word}, json::serialize(question) + "\n", limits, stop);
  if (!said) return pass(said);
  if (trimmed(*said).empty()) return json::object();
  json::error_code error;
  json::value answer = json::parse(*said, error);
  if (!error && answer.is_object()) return std::move(answer.get_object());
  return fail(ErrorCode::io, concat(program, " ", word, " printed something that is not a JSON object"));
}

json::object accelerators_of(const Resources& has) {
  json::object out;
  for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
    if (has.accelerators[kind] > 0) out[kAcceleratorNames[kind]] = has.accelerators[kind];
  }
  return out;
}

/// What starts the machine's worker, wherever drover is installed.
json::array worker_words(const MachineOrder& order) {
  json::array words = {"drover", "worker", "--name", order.name};
  for (const std::string& word : shape_flags(order)) words.emplace_back(word);
  return words;
}

}  // namespace

Result<std::string> CommandProvider::launch(const MachineOrder& order) {
  json::object labels;
  for (const auto& [name, value] : order.labels) labels[name] = value;
  auto answer = ask(options_.program, "launch",
                    {{"name", order.name},
                     {"fleet", order.fleet},
                     {"server", options_.server},
                     {"shape", order.shape},
                     {"cpus", static_cast<double>(order.has.milli_cpus) / 1000},
                     {"memory_bytes", order.has.memory_bytes},
                     {"accelerators", accelerators_of(order.has)},
                     {"spot", order.spot},
                     {"labels", std::move(labels)},
                     {"join_token", order.join_token},
                     {"worker", worker_words(order)}},
                    options_.limits, options_.stop);
  if (!answer) return pass(answer);
  Answer fields(*answer, concat(options_.program, " launch"));
  std::string id = fields.text("id", false);
  if (fields.error()) return std::unexpected(*fields.error());
  return id;
}

Result<void> CommandProvider::terminate(const std::string& name) {
  auto answer =
      ask(options_.program, "terminate", {{"name", name}, {"fleet", options_.fleet}, {"server", options_.server}},
          options_.limits, options_.stop);
  if (!answer) return pass(answer);
  return {};
}

Result<MachineList> CommandProvider::list() {
  auto answer = ask(options_.program, "list", {{"fleet", options_.fleet}, {"server", options_.server}}, options_.limits,
                    options_.stop);
  if (!answer) return pass(answer);
  const std::string what = concat(options_.program, " list");
  Answer fields(*answer, what);
  MachineList out{.machines = {}, .is_exact = fields.flag("exact")};
  // A program that says nothing of machines has not said that there are none.
  const json::array* machines = fields.list("machines");
  for (std::size_t i = 0; machines != nullptr && i < machines->size(); ++i) {
    const json::object* machine = (*machines)[i].if_object();
    if (machine == nullptr) return fail(ErrorCode::io, concat(what, ": 'machines' has an element that is not an object"));
    Answer one(*machine, what);
    ListedMachine listed{.name = one.text("name"),
                         .id = one.text("id", false),
                         .has_ended = one.flag("ended"),
                         .note = one.text("note", false),
                         .fleet = one.text("fleet", false),
                         .server = one.text("server", false)};
    if (one.error()) return std::unexpected(*one.error());
    out.machines.push_back(std::move(listed));
  }
  if (fields.error()) return std::unexpected(*fields.error());
  std::ranges::sort(out.machines, {}, &ListedMachine::name);
  return out;
}

Result<std::vector<CommandShape>> command_shapes(const std::string& program, const ScriptLimits& limits,
                                                 const std::stop_token& stop) {
  auto answer = ask(program, "shapes", {}, limits, stop);
  if (!answer) return pass(answer);
  const std::string what = concat(program, " shapes");
  Answer fields(*answer, what);
  std::vector<CommandShape> out;
  const json::array* shapes = fields.list("shapes");
  for (std::size_t i = 0; shapes != nullptr && i < shapes->size(); ++i) {
    const json::object* shape = (*shapes)[i].if_object();
    if (shape == nullptr) return fail(ErrorCode::io, concat(what, ": 'shapes' has an element that is not an object"));
    Answer one(*shape, what);
    CommandShape made{.name = one.text("name"), .has = {one.number("cpus", 1000, true), one.size("memory"), {}}};
    made.microdollars = one.price("price");
    made.spot_microdollars = one.price("spot_price");
    if (const json::object* accelerators = one.object("accelerators")) {
      Answer kinds(*accelerators, what);
      for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
        made.has.accelerators[kind] = kinds.number(kAcceleratorNames[kind].data(), 1, false);
      }
      if (kinds.error()) return std::unexpected(*kinds.error());
    }
    if (!is_valid_name(made.name)) one.complain("name", "is not a name: letters, digits, '_', '.' and '-'");
    if (one.error()) return std::unexpected(*one.error());
    out.push_back(std::move(made));
  }
  if (fields.error()) return std::unexpected(*fields.error());
  if (out.empty()) return fail(ErrorCode::io, concat(what, " names no shape"));
  return out;
}

}  // namespace drover
