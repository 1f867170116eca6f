#include "runtime/runtime_call.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace drover {
namespace {

// Options of runc and crun that take a value, before and after the command. All others stand alone.
constexpr std::array<std::string_view, 6> kGlobalValues = {"root", "log",      "log-format",
                                                           "criu", "rootless", "cgroup-manager"};
constexpr std::array<std::string_view, 9> kCreateValues = {
    "bundle", "b", "console-socket", "pid-file", "preserve-fds", "pidfd-socket", "config", "f", "keep-fds"};
constexpr std::array<std::string_view, 4> kOwn = {"config", "runtime-path", "hook-config-path", "vendor"};

template <std::size_t N>
bool is_in(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// "--log=x", "-log x": the name, and the value that is written with it.
struct Option {
  std::string_view name;
  std::optional<std::string_view> value;
};

std::optional<Option> option_in(std::string_view word) {
  if (!word.starts_with('-') || word == "-" || word == "--") return std::nullopt;
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return Option{word, std::nullopt};
  return Option{word.substr(0, equals), word.substr(equals + 1)};
}

/// Reads the words from left to right.
class CallReader {
 public:
  explicit CallReader(std::span<const char* const> words) : words_(words) {}

  Result<RuntimeCall> read() {
    if (auto before = read_global(); !before) return pass(before);
    if (call_.makes_container()) {
      if (auto after = read_create(); !after) return pass(after);
    }
    for (; at_ < words_.size(); ++at_) call_.forwarded.emplace_back(words_[at_]);
    return std::move(call_);
  }

 private:
  Result<void> read_global() {
    while (at_ < words_.size()) {
      const std::string_view word = words_[at_];
      const auto option = option_in(word);
      if (!option) {
        if (word != "--" && word != "-") call_.command = word;
        call_.forwarded.emplace_back(word);
        ++at_;
        return {};
      }
      if (option->name == "help-drover") call_.wants_help = true;
      const bool is_own = is_in(kOwn, option->name) || option->name == "help-drover";
      const bool has_value = is_in(kGlobalValues, option->name) || is_in(kOwn, option->name);
      auto value = take(*option, has_value, !is_own);
      if (!value) return pass(value);
      if (auto kept = keep(option->name, *value); !kept) return kept;
    }
    return {};
  }

  Result<void> read_create() {
    while (at_ < words_.size()) {
      const auto option = option_in(words_[at_]);
      if (!option) return {};
      auto value = take(*option, is_in(kCreateValues, option->name), true);
      if (!value) return pass(value);
      if (option->name == "bundle" || option->name == "b") call_.bundle = *value;
    }
    return {};
  }

  /// The value of the option at hand, which is passed.
  Result<std::string> take(const Option& option, bool has_value, bool is_forwarded) {
    if (is_forwarded) call_.forwarded.emplace_back(words_[at_]);
    ++at_;
    if (option.value) return std::string(*option.value);
    if (!has_value) return std::string();
    if (at_ == words_.size()) {
      return fail(ErrorCode::bad_input, concat("the option --", option.name, " needs a value"));
    }
    const std::string value = words_[at_++];
    if (is_forwarded) call_.forwarded.push_back(value);
    return value;
  }

  Result<void> keep(std::string_view name, const std::string& value) {
    if (name == "log") call_.log = value;
    if (name == "log-format") call_.logs_json = value == "json";
    if (name == "config") call_.settings = value;
    if (name == "runtime-path") call_.runtime = value;
    if (name == "hook-config-path") call_.hook_files.push_back(value);
    if (name != "vendor") return {};
    if (value != "nvidia" && value != "neuron" && value != "any") {
      return fail(ErrorCode::bad_input, concat("unknown vendor '", value, "'"), "use --vendor nvidia, neuron or any");
    }
    call_.vendor = value == "nvidia" ? AccelVendor::nvidia : value == "neuron" ? AccelVendor::neuron : AccelVendor::any;
    return {};
  }

  std::span<const char* const> words_;
  std::size_t at_ = 0;
  RuntimeCall call_;
};

}  // namespace

Result<RuntimeCall> parse_runtime_call(std::span<const char* const> words) {
  return CallReader(words).read();
}

}  // namespace drover
