#include "wire/document.h"

#include <algorithm>
#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <map>

#include "wire/json_text.h"
#include "wire/value_words.h"

namespace drover {
namespace json = boost::json;
namespace {

/// Builds a Node from what the parser of JSON calls out.
class NodeBuilder {
 public:
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t(-1);
  static constexpr std::size_t max_string_size = std::size_t(-1);

  Node root;

  bool on_document_begin(json::error_code& /*error*/) { return true; }
  bool on_document_end(json::error_code& /*error*/) { return true; }
  bool on_object_begin(json::error_code& /*error*/) { return open(Node::Kind::object); }
  bool on_object_end(std::size_t /*size*/, json::error_code& /*error*/) { return close(); }
  bool on_array_begin(json::error_code& /*error*/) { return open(Node::Kind::list); }
  bool on_array_end(std::size_t /*size*/, json::error_code& /*error*/) { return close(); }
  bool on_key_part(json::string_view part, std::size_t /*size*/, json::error_code& /*error*/) { return gather(part); }
  bool on_key(json::string_view part, std::size_t /*size*/, json::error_code& /*error*/) {
    gather(part);
    open_.back()->fields.push_back({std::exchange(gathered_, {}), {}, {}});
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t /*size*/, json::error_code& /*error*/) {
    return gather(part);
  }
  bool on_string(json::string_view part, std::size_t /*size*/, json::error_code& /*error*/) {
    gather(part);
    return scalar(Node::Kind::text);
  }
  bool on_number_part(json::string_view part, json::error_code& /*error*/) { return gather(part); }
  bool on_int64(std::int64_t /*value*/, json::string_view part, json::error_code& /*error*/) { return number(part); }
  bool on_uint64(std::uint64_t /*value*/, json::string_view part, json::error_code& /*error*/) { return number(part); }
  bool on_double(double /*value*/, json::string_view part, json::error_code& /*error*/) { return number(part); }
  bool on_bool(bool value, json::error_code& /*error*/) {
    gather(value ? "true" : "false");
    return scalar(Node::Kind::boolean);
  }
  bool on_null(json::error_code& /*error*/) { return scalar(Node::Kind::null); }
  bool on_comment_part(json::string_view /*part*/, json::error_code& /*error*/) { return true; }
  bool on_comment(json::string_view /*part*/, json::error_code& /*error*/) { return true; }

 private:
  bool gather(json::string_view part) {
    gathered_.append(part.data(), part.size());
    return true;
  }
  bool number(json::string_view part) {
    gather(part);
    return scalar(Node::Kind::number);
  }
  Node& place_for_next() {
    if (open_.empty()) return root;
    Node& into = *open_.back();
    if (into.kind == Node::Kind::list) return into.items.emplace_back();
    return into.fields.back().value;
  }
  bool scalar(Node::Kind kind) {
    Node& node = place_for_next();
    node.kind = kind;
    node.quoted = kind == Node::Kind::text;
    node.text = std::exchange(gathered_, {});
    return true;
  }
  bool open(Node::Kind kind) {
    Node& node = place_for_next();
    node.kind = kind;
    open_.push_back(&node);  // stays where it is until it is closed: only the innermost one grows
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string gathered_;
  std::vector<Node*> open_;
};

void write(std::string& out, const Node& node) {
  const auto text = [&](std::string_view bytes) { out += json::serialize(json::string_view(bytes)); };
  bool first = true;
  const auto comma = [&] {
    if (!std::exchange(first, false)) out += ',';
  };
  switch (node.kind) {
    case Node::Kind::null: out += "null"; break;
    case Node::Kind::boolean: out += node.text.front() == 't' || node.text.front() == 'T' ? "true" : "false"; break;
    case Node::Kind::number:
      if (is_json_number(node.text)) {
        out += node.text;
      } else {
        text(node.text);
      }
      break;
    case Node::Kind::text: text(node.text); break;
    case Node::Kind::list:
      out += '[';
      for (const Node& item : node.items) {
        comma();
        write(out, item);
      }
      out += ']';
      break;
    case Node::Kind::object:
      out += '{';
      for (const Node::Field& field : node.fields) {
        comma();
        text(field.name);
        out += ':';
        write(out, field.value);
      }
      out += '}';
      break;
  }
}

void find_repeated(const Node& node, const std::string& path, std::vector<RepeatedField>& out) {
  std::map<std::string_view, Position> seen;
  for (const Node::Field& field : node.fields) {
    const auto [it, fresh] = seen.emplace(field.name, field.place);
    if (!fresh) out.push_back({member(path, field.name), field.place, it->second});
    find_repeated(field.value, member(path, field.name), out);
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (!node.items[i].is_scalar()) find_repeated(node.items[i], element(path, i), out);
  }
}

}  // namespace

const Node* Node::find(std::string_view name) const {
  const auto it = std::ranges::find(fields, name, &Field::name);
  return it == fields.end() ? nullptr : &it->value;
}

Result<Node> node_from_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = kMostDepth;
  json::basic_parser<NodeBuilder> parser(options);
  json::error_code error;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
  if (!error && used < text.size()) error = json::error::extra_data;
  if (error) return fail(ErrorCode::bad_input, error.message());
  return std::move(parser.handler().root);
}

std::string node_to_json(const Node& node) {
  std::string out;
  write(out, node);
  return out;
}

std::vector<RepeatedField> repeated_fields(const Node& root) {
  std::vector<RepeatedField> out;
  find_repeated(root, {}, out);
  return out;
}

}  // namespace drover
