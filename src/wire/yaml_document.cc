#include "wire/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include "base/text.h"
#include "base/utf8.h"
#include "wire/json_text.h"

namespace drover {
namespace {

// What aliases copy, in all: a few lines of them can stand for more than any memory holds.
constexpr std::size_t kMostCopied = 100'000;

/// Thrown through the library's parser, and caught behind it.
struct Refused {
  YamlError error;
};

/// The text that is read, by lines.
class Source {
 public:
  explicit Source(std::string_view text) : text_(text) {
    starts_.push_back(0);
    for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
      starts_.push_back(at + 1);
    }
  }

  /// Where the library's mark is: it counts lines and bytes from 0.
  Position place(const YAML::Mark& mark) const {
    if (mark.is_null()) return {1, 1};
    const std::string_view before =
        line(static_cast<std::size_t>(mark.line)).substr(0, static_cast<std::size_t>(mark.column));
    std::uint32_t column = 1;
    for (std::size_t at = 0; at < before.size(); at += utf8_char(before, at).length) ++column;
    return {static_cast<std::uint32_t>(mark.line) + 1, column};
  }
  std::size_t offset(const YAML::Mark& mark) const {
    const auto index = static_cast<std::size_t>(std::max(mark.line, 0));
    if (index >= starts_.size()) return text_.size();
    return std::min(starts_[index] + static_cast<std::size_t>(std::max(mark.column, 0)), text_.size());
  }
  YAML::Mark mark(std::size_t offset) const {
    const auto next = std::ranges::upper_bound(starts_, offset);
    YAML::Mark out;
    out.pos = static_cast<int>(offset);
    out.line = static_cast<int>(next - starts_.begin()) - 1;
    out.column = static_cast<int>(offset - *(next - 1));
    return out;
  }
  /// Counted from 0; empty where there is none.
  std::string_view line(std::size_t index) const {
    if (index >= starts_.size()) return {};
    const std::size_t end = index + 1 < starts_.size() ? starts_[index + 1] - 1 : text_.size();
    return text_.substr(starts_[index], end - starts_[index]);
  }
  std::size_t offset_of_line(std::size_t index) const { return index < starts_.size() ? starts_[index] : text_.size(); }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
};

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

Node::Kind kind_of_plain(std::string_view text) {
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return Node::Kind::null;
  if (is_one_of(text, {"true", "True", "TRUE", "false", "False", "FALSE"})) return Node::Kind::boolean;
  std::string_view number = text;
  if (number.starts_with('+') || number.starts_with('-')) number.remove_prefix(1);
  if (number.size() > 1 && number.starts_with('0') &&
      number.find_first_not_of("0123456789") == std::string_view::npos) {
    return Node::Kind::number;
  }
  return !number.starts_with('-') && is_json_number(number) ? Node::Kind::number : Node::Kind::text;
}

/// Builds a Node from the events of YAML.
class Builder : public YAML::EventHandler {
 public:
  Builder(const Source& source, const FileSubject& subject) : source_(source), subject_(subject) {}

  int documents = 0;
  Node root;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents > 1) {
      refuse(mark, concat("a second document begins here, but a file can describe only one ", subject_.what),
             concat("remove the --- line, or move the second ", subject_.what, " to its own file"));
    }
  }
  void OnDocumentEnd() override {}
  /// Where the list or object begins that is not closed yet.
  Position innermost() const { return open_.empty() ? Position{1, 1} : open_.back().node->place; }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { scalar(before(mark), anchor, {}); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      refuse(mark, "this alias refers to a value that contains it", "write the value out");
    }
    copied_ += count(found->second);
    if (copied_ > kMostCopied) refuse(mark, "aliases expand to too many values", "write the values out");
    Node copy = found->second;
    copy.place = source_.place(mark);
    put(mark, std::move(copy));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node;
    node.text = value;
    node.quoted = tag != "?" && !tag.empty();
    node.kind = node.quoted ? Node::Kind::text : kind_of_plain(value);
    if (node.quoted) check_closed(mark);
    scalar(mark, anchor, std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, anchor, Node::Kind::list);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, anchor, Node::Kind::object);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node* node;
    YAML::anchor_t anchor;
    bool has_key = false;  // of an object: what comes next is its value
  };

  [[noreturn]] void refuse(const YAML::Mark& mark, std::string what, std::string next) const {
    throw Refused{{source_.place(mark), std::move(what), std::move(next)}};
  }

  // The library marks nothing by what comes after it. What it stands behind is before that.
  YAML::Mark before(const YAML::Mark& mark) const {
    const std::size_t end = source_.text().substr(0, source_.offset(mark)).find_last_not_of(" \t\r\n");
    return end == std::string_view::npos ? mark : source_.mark(end);
  }

  // The library takes the end of the file for the end of a text in quotes.
  void check_closed(const YAML::Mark& mark) const {
    const std::string_view rest = source_.text().substr(source_.offset(mark));
    if (rest.empty() || (rest.front() != '"' && rest.front() != '\'')) return;
    const char quote = rest.front();
    for (std::size_t at = 1; at < rest.size(); ++at) {
      const bool escaped = quote == '"' ? rest[at] == '\\' : rest.substr(at, 2) == "''";
      if (!escaped && rest[at] == quote) return;
      if (escaped) ++at;
    }
    refuse(mark, concat("the string that begins with this ", quote, " is not closed"),
           concat("close it with another ", quote));
  }

  static std::size_t count(const Node& node) {
    std::size_t nodes = 1;
    for (const Node& item : node.items) nodes += count(item);
    for (const Node::Field& field : node.fields) nodes += count(field.value);
    return nodes;
  }

  bool wants_key() const {
    return !open_.empty() && open_.back().node->kind == Node::Kind::object && !open_.back().has_key;
  }

  Node& put(const YAML::Mark& mark, Node node) {
    if (open_.empty()) return root = std::move(node);
    Open& into = open_.back();
    if (into.node->kind == Node::Kind::list) return into.node->items.emplace_back(std::move(node));
    if (!into.has_key) {
      if (!node.items.empty() || !node.fields.empty() || node.kind == Node::Kind::list ||
          node.kind == Node::Kind::object) {
        refuse(mark, "a field name is expected here, not a list or an object",
               subject_.has_placeholders ? "write NAME: VALUE, and put placeholders such as {} in quotes: \"{}\""
                                         : "write NAME: VALUE");
      }
      into.node->fields.push_back({std::move(node.text), source_.place(mark), {}});
      into.has_key = true;
      return into.node->fields.back().value;
    }
    into.has_key = false;
    return into.node->fields.back().value = std::move(node);
  }

  void scalar(const YAML::Mark& mark, YAML::anchor_t anchor, Node node) {
    node.place = source_.place(mark);
    if (anchor != 0) anchors_[anchor] = node;
    put(mark, std::move(node));
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Node::Kind kind) {
    if (open_.size() >= kMostDepth) {
      refuse(mark, concat("values are nested more than ", kMostDepth, " levels deep"),
             concat("compare it with ", subject_.examples));
    }
    Node node;
    node.kind = kind;
    node.place = source_.place(mark);
    open_.push_back({&put(mark, std::move(node)), anchor});
  }

  void close() {
    const Open closed = open_.back();
    open_.pop_back();
    if (closed.anchor != 0) anchors_[closed.anchor] = *closed.node;
  }

  const Source& source_;
  const FileSubject& subject_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::size_t copied_ = 0;
};

std::size_t indentation(std::string_view line) {
  return std::min(line.find_first_not_of(" \t"), line.size());
}

// "retries:3", which YAML takes for a text. Behind a scheme or a drive there is no space either.
std::size_t colon_without_space(std::string_view line) {
  const std::size_t begin = indentation(line);
  const std::size_t colon =
      line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", begin);
  if (colon == std::string_view::npos || colon == begin || line[colon] != ':') return std::string_view::npos;
  if (colon + 1 >= line.size() || std::string_view(" \t\r/").find(line[colon + 1]) != std::string_view::npos) {
    return std::string_view::npos;
  }
  return colon;
}

YamlError colon_error(const Source& source, std::size_t index, std::size_t colon) {
  const std::string_view line = source.line(index);
  const std::size_t begin = indentation(line);
  const std::string_view value = line.substr(colon + 1, line.find_last_not_of(" \r") - colon);
  return {{static_cast<std::uint32_t>(index) + 1, static_cast<std::uint32_t>(colon) + 1},
          "there is no space after this colon",
          concat("write ", line.substr(begin, colon - begin), ": ", utf8(value))};
}

// "when: >=": what begins with > or | is a block of text for YAML.
YamlError block_error(const Source& source, std::size_t index) {
  constexpr std::size_t kLongest = 40;
  const std::string_view line = source.line(index);
  const std::size_t at = std::min(line.find_first_of(">|"), line.size());
  const std::string_view value = line.substr(at, line.find_last_not_of(" \t\r") + 1 - at);
  const bool is_shown = value.size() <= kLongest && value.find_first_of("'#") == std::string_view::npos;
  return {source.place(source.mark(source.offset_of_line(index) + at)),
          concat("a value that begins with ", value.substr(0, 1), " starts a block of text on the lines below it"),
          concat("put the value in quotes", is_shown ? concat(": '", utf8(value), "'") : "")};
}

// What the library says is about its own innards: the text around it tells more.
YamlError explain(const Source& source, const YAML::Exception& error, Position innermost, const FileSubject& subject) {
  const Position place = source.place(error.mark);
  const std::string& said = error.msg;
  const std::size_t index = error.mark.is_null() ? 0 : static_cast<std::size_t>(error.mark.line);
  const std::string_view here = source.line(index);
  if (const std::size_t tab = here.substr(0, indentation(here)).find('\t'); tab != std::string_view::npos) {
    return {{static_cast<std::uint32_t>(index) + 1, static_cast<std::uint32_t>(tab) + 1},
            "this line is indented with a tab, which YAML does not allow",
            "indent with spaces, two for each level"};
  }
  if (said == YAML::ErrorMsg::MAP_VALUE || said == YAML::ErrorMsg::END_OF_MAP) {
    for (const std::size_t candidate : {index, index - 1}) {
      const std::size_t colon = colon_without_space(source.line(candidate));
      if (colon != std::string_view::npos) return colon_error(source, candidate, colon);
    }
  }
  if (said == YAML::ErrorMsg::MAP_VALUE || said == YAML::ErrorMsg::END_OF_MAP) {
    const std::size_t begin = indentation(here);
    const bool key_here =
        said == YAML::ErrorMsg::END_OF_MAP || here.find(':') == static_cast<std::size_t>(error.mark.column);
    if (index > 0 && key_here && begin > indentation(source.line(index - 1))) {
      return {{place.line, static_cast<std::uint32_t>(begin) + 1},
              "this line is indented further than the line above, which already has a value",
              "begin it in the same column as the line above"};
    }
  }
  if (said == YAML::ErrorMsg::MAP_VALUE) {
    return {place, "there is a second colon in this value", "put the whole value in quotes"};
  }
  if (said == YAML::ErrorMsg::END_OF_MAP || said == YAML::ErrorMsg::END_OF_SEQ) {
    return {place, "the indentation of this line does not match any line above it",
            "begin all lines of one level in the same column, as NAME: VALUE or, in a list, as - VALUE"};
  }
  if (said == YAML::ErrorMsg::END_OF_SEQ_FLOW || said == YAML::ErrorMsg::FLOW_END) {
    return {innermost, "the list that begins here is not closed", "close it with ], and put commas between its values"};
  }
  if (said == YAML::ErrorMsg::END_OF_MAP_FLOW) {
    return {innermost, "the object that begins here is not closed",
            concat("close it with }, with commas between its fields",
                   subject.has_placeholders ? "; a placeholder such as {} goes in quotes: \"{}\"" : "")};
  }
  if (said == YAML::ErrorMsg::UNKNOWN_TOKEN) {
    return {place, "a value cannot begin with this character", "put the value in quotes"};
  }
  if (said == YAML::ErrorMsg::BLOCK_ENTRY) {
    return {place, "a list cannot begin on the same line as its name",
            "put each - on a line of its own, or write [a, b]"};
  }
  if (said == YAML::ErrorMsg::UNKNOWN_ANCHOR) {
    return {place, "this alias refers to an unknown anchor", "put a string that begins with * in quotes"};
  }
  if (said.starts_with(YAML::ErrorMsg::INVALID_ESCAPE)) {
    return {place,
            concat("unknown escape in a \"…\" string: \\",
                   said.substr(std::string_view(YAML::ErrorMsg::INVALID_ESCAPE).size())),
            "write \\\\ for a backslash, or use '…', where backslashes have no special meaning"};
  }
  if (said == YAML::ErrorMsg::CHAR_IN_BLOCK) return block_error(source, index);
  return {place, concat("this is not valid YAML: ", said), concat("compare it with ", subject.examples)};
}

// JSON writes what lies beyond 16 bits as two escapes; YAML as one.
std::string join_surrogates(std::string_view text) {
  const auto unit = [&](std::size_t at) -> std::uint32_t {
    if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return 0;
    std::uint32_t value = 0;
    for (std::size_t i = at + 2; i < at + 6; ++i) {
      const std::size_t digit = std::string_view("0123456789abcdef")
                                    .find(static_cast<char>(std::tolower(static_cast<unsigned char>(text[i]))));
      if (digit == std::string_view::npos) return 0;
      value = value * 16 + static_cast<std::uint32_t>(digit);
    }
    return value;
  };
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t high = unit(at);
    const std::uint32_t low = high >= 0xd800 && high < 0xdc00 ? unit(at + 6) : 0;
    if (low >= 0xdc00 && low < 0xe000) {
      const std::uint32_t point = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
      std::array<char, 16> escape{};
      std::snprintf(escape.data(), escape.size(), "\\U%08x", point);
      out += escape.data();
      at += 12;
      continue;
    }
    const std::size_t length = text[at] == '\\' && at + 1 < text.size() ? 2 : 1;
    out += text.substr(at, length);
    at += length;
  }
  return out;
}

// The last bracket of JSON that nothing closes. The library takes what begins with it for a name.
std::size_t unclosed_bracket(std::string_view text) {
  std::vector<std::size_t> open;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
    } else if (text[at] == '{' || text[at] == '[') {
      open.push_back(at);
    } else if ((text[at] == '}' || text[at] == ']') && !open.empty()) {
      open.pop_back();
    }
  }
  return open.empty() ? std::string_view::npos : open.back();
}

enum class Written : std::uint8_t { as_yaml, as_json };

std::expected<Node, YamlError> parse(std::string_view text, Written written, const FileSubject& subject) {
  const Source source(text);
  if (const std::size_t at = written == Written::as_json ? unclosed_bracket(text) : std::string_view::npos;
      at != std::string_view::npos) {
    const char closing = text[at] == '{' ? '}' : ']';
    return std::unexpected(
        YamlError{source.place(source.mark(at)),
                  concat("the ", closing == '}' ? "object" : "list", " that begins here is not closed"),
                  concat("close it with ", closing)});
  }
  Builder builder(source, subject);
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refused& refused) {
    return std::unexpected(refused.error);
  } catch (const YAML::Exception& error) {
    return std::unexpected(explain(source, error, builder.innermost(), subject));
  }
  if (builder.root.kind == Node::Kind::text && !builder.root.quoted) {
    const std::size_t line = builder.root.place.line - 1;
    const std::size_t colon = colon_without_space(source.line(line));
    if (colon != std::string_view::npos) return std::unexpected(colon_error(source, line, colon));
  }
  return std::move(builder.root);
}

}  // namespace

std::expected<Node, YamlError> node_from_yaml(std::string_view text, const FileSubject& subject) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  Position place{1, 1};
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char one = utf8_char(text, at);
    if (!one.valid || one.point == 0) {
      return std::unexpected(
          YamlError{place, one.valid ? "unexpected NUL byte" : "invalid UTF-8", "save the file as UTF-8 text"});
    }
    at += one.length;
    place = one.point == '\n' ? Position{place.line + 1, 1} : Position{place.line, place.column + 1};
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
  return json ? parse(join_surrogates(text), Written::as_json, subject) : parse(text, Written::as_yaml, subject);
}

}  // namespace drover
