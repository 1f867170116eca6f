#include "wire/aws/model.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace drover::aws {
namespace {

constexpr std::array<std::pair<std::string_view, Kind>, 8> kSimple{{{"string", Kind::string},
                                                                    {"integer", Kind::integer},
                                                                    {"long", Kind::long_integer},
                                                                    {"double", Kind::real},
                                                                    {"boolean", Kind::boolean},
                                                                    {"time", Kind::time},
                                                                    {"blob", Kind::blob},
                                                                    {"any", Kind::any}}};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(' '); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(' ', end);
  }
  return words;
}

bool read_bound(std::string_view text, std::optional<double>& bound) {
  if (text.empty()) return true;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bound = value;
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

const Member* Shape::find(std::string_view member) const {
  const auto found = std::ranges::find(members, member, &Member::name);
  return found == members.end() ? nullptr : &*found;
}

const Operation* Model::find(std::string_view operation) const {
  const auto found = operations_.find(operation);
  return found == operations_.end() ? nullptr : &found->second;
}

/// Reads the text line by line. A structure may be named before it is described.
class ModelText {
 public:
  Result<Model> read(std::string_view text) {
    for (std::size_t number = 1; !text.empty(); ++number) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      const std::string wrong = take(line);
      if (!wrong.empty()) return fail(ErrorCode::bad_input, concat("line ", number, ": ", wrong));
    }
    for (const auto& [name, shape] : named_) {
      if (!described_.contains(name)) return fail(ErrorCode::bad_input, concat("'", name, "' is not described"));
    }
    return std::move(model_);
  }

 private:
  /// What is wrong with the line; empty: nothing.
  std::string take(std::string_view line) {
    const auto words = words_of(line);
    if (words.empty() || words[0].starts_with('#')) return {};
    if (line.front() == ' ') return add_member(words);
    open_ = nullptr;
    if (words[0] == "returns" && words.size() == 1) return begin_output();
    if (words.size() < 2) return "incomplete";
    if (words[0] == "enum") return add_enum(words);
    if (words[0] == "structure") return begin_structure(words[1]);
    if (words[0] == "operation") return begin_operation(words);
    return concat("unknown word '", words[0], "'");
  }

  Shape* make(Kind kind) {
    model_.shapes_.push_back({.kind = kind, .name = {}, .words = {}, .members = {}, .element = nullptr});
    return &model_.shapes_.back();
  }

  Shape* named(std::string_view name) {
    auto [at, added] = named_.try_emplace(std::string(name), nullptr);
    if (added) {
      at->second = make(Kind::structure);
      at->second->name = name;
    }
    return at->second;
  }

  std::string begin_structure(std::string_view name) {
    if (!described_.emplace(name, true).second) return concat("'", name, "' is described twice");
    open_ = named(name);
    operation_ = nullptr;
    return {};
  }

  std::string add_enum(const std::vector<std::string_view>& words) {
    if (std::string wrong = begin_structure(words[1]); !wrong.empty()) return wrong;
    open_->kind = Kind::string;
    for (std::size_t i = 2; i < words.size(); ++i) {
      if (words[i] != "|") open_->words.emplace_back(words[i]);
    }
    open_ = nullptr;
    return {};
  }

  std::string begin_operation(const std::vector<std::string_view>& words) {
    if (words.size() != 2 && words.size() != 4) return "an operation has a name, and perhaps a method and a path";
    const auto [at, added] = model_.operations_.try_emplace(std::string(words[1]));
    if (!added) return concat("'", words[1], "' is described twice");
    operation_ = &at->second;
    operation_->name = words[1];
    if (words.size() == 4) {
      operation_->method = words[2];
      operation_->path = words[3];
    }
    Shape* input = make(Kind::structure);
    operation_->input = input;
    operation_->output = make(Kind::structure);
    open_ = input;
    return {};
  }

  std::string begin_output() {
    if (operation_ == nullptr) return "'returns' without an operation";
    Shape* output = make(Kind::structure);
    operation_->output = output;
    open_ = output;
    return {};
  }

  const Shape* shape_of(std::string_view type) {
    const bool is_list = type.starts_with('[') && type.ends_with(']');
    const bool is_map = type.starts_with('{') && type.ends_with('}');
    if ((is_list || is_map) && type.size() > 2) {
      const Shape* element = shape_of(type.substr(1, type.size() - 2));
      Shape* shape = make(is_list ? Kind::list : Kind::map);
      shape->element = element;
      return shape;
    }
    const auto simple = std::ranges::find(kSimple, type, &decltype(kSimple)::value_type::first);
    if (simple == kSimple.end()) return named(type);
    const auto [at, added] = simple_.try_emplace(simple->second, nullptr);
    if (added) at->second = make(simple->second);
    return at->second;
  }

  std::string add_member(const std::vector<std::string_view>& words) {
    if (open_ == nullptr) return "a member of nothing";
    if (words.size() < 2) return "a member has a name and a type";
    if (open_->find(words[0]) != nullptr) return concat("'", words[0], "' is described twice");
    Member member{.name = std::string(words[0]),
                  .shape = shape_of(words[1]),
                  .least = {},
                  .most = {},
                  .wire_name = {},
                  .query_name = {}};
    member.wire_name = member.name;
    for (const std::string_view word : std::vector(words.begin() + 2, words.end())) {
      const std::size_t dots = word.find("..");
      if (word == "required") {
        member.required = true;
      } else if (word == "flat") {
        member.flat = true;
      } else if (word == "uri") {
        member.location = Location::path;
      } else if (word == "query") {
        member.location = Location::query;
      } else if (word == "header") {
        member.location = Location::header;
      } else if (word.starts_with("as=")) {
        member.wire_name = word.substr(3);
      } else if (word.starts_with("xml=")) {
        member.query_name = word.substr(4);
      } else if (const std::size_t comma = word.find(','); word.starts_with("keys=") && comma != word.npos) {
        member.key_name = word.substr(5, comma - 5);
        member.value_name = word.substr(comma + 1);
      } else if (dots == std::string_view::npos || !read_bound(word.substr(0, dots), member.least) ||
                 !read_bound(word.substr(dots + 2), member.most)) {
        return concat("unknown word '", word, "'");
      }
    }
    if (member.query_name.empty()) member.query_name = member.wire_name;
    open_->members.push_back(std::move(member));
    return {};
  }

  Model model_;
  std::map<std::string, Shape*, std::less<>> named_;
  std::map<Kind, Shape*> simple_;
  std::map<std::string, bool, std::less<>> described_;
  Shape* open_ = nullptr;
  Operation* operation_ = nullptr;
};

Result<Model> Model::parse(std::string_view text) {
  return ModelText().read(text);
}

}  // namespace drover::aws
