#include "worker/job_staging.h"

#include <boost/json.hpp>

#include "base/text.h"

namespace drover {
namespace {

namespace json = boost::json;

constexpr const char* kUriField = "uri";
constexpr std::size_t kLongestFileName = 200;

}  // namespace

bool uses_staging(const Definition& definition) {
  return definition.download || !definition.output.empty();
}

Result<JobStaging> make_job_staging(const Definition& definition) {
  JobStaging out{.downloads = definition.download, .json = definition.items == ItemKind::json, .output = {}};
  if (definition.output.empty()) return out;
  auto output = CommandTemplate::parse(Definition{.command = {definition.output}, .items = definition.items});
  if (!output) return pass(output);
  out.output = std::move(*output);
  return out;
}

Result<std::string> JobStaging::input_of(std::string_view item) const {
  if (!downloads) return std::string();
  if (!json && item.empty())
    return fail(ErrorCode::bad_input, "an empty item names no object to download", "omit empty items");
  if (!json) return std::string(item);
  json::error_code error;
  const json::value value = json::parse(item, error);
  const json::value* uri = error || !value.is_object() ? nullptr : value.get_object().if_contains(kUriField);
  if (uri == nullptr || !uri->is_string()) {
    return fail(ErrorCode::bad_input,
                concat("the item has no field '", kUriField, "' that names the object to download"),
                concat("add \"", kUriField, "\": \"s3://BUCKET/KEY\" to each item, or omit --download"));
  }
  return std::string(uri->get_string());
}

std::string JobStaging::item_with_file(std::string_view item, const std::string& path) const {
  if (!json) return path;
  json::error_code error;
  json::value value = json::parse(item, error);
  if (error || !value.is_object()) return std::string(item);
  value.get_object()[kUriField] = path;
  return json::serialize(value);
}

Result<std::string> JobStaging::output_of(std::string_view item, ItemIndex index) const {
  if (!output) return std::string();
  auto words = output->render(item, index);
  if (!words) return pass(words);
  return words->front();
}

std::string staged_file_name(const ObjectUri& uri) {
  std::string_view key = uri.key;
  if (uri.scheme == ObjectUri::Scheme::http) key = key.substr(0, key.find('?'));
  std::string_view name = key.substr(key.rfind('/') + 1);
  if (name.size() > kLongestFileName) {
    name = name.substr(name.size() - kLongestFileName);
    while (!name.empty() && (static_cast<unsigned char>(name.front()) & 0xc0) == 0x80)
      name.remove_prefix(1);  // half a character
  }
  if (name.empty() || name == "." || name == "..") return "input";
  return std::string(name);
}

Result<void> check_staging(const JobStaging& staging, std::string_view item, ItemIndex index) {
  auto input = staging.input_of(item);
  if (!input) return pass(input);
  if (!input->empty()) {
    auto uri = parse_object_uri(*input);
    if (!uri) return pass(uri);
    if (uri->is_prefix()) {
      return fail(ErrorCode::bad_input, concat("item '", *input, "' does not name an object"),
                  "name objects such as s3://BUCKET/KEY, or omit --download");
    }
  }
  auto output = staging.output_of(item, index);
  if (!output) return pass(output);
  if (output->empty()) return {};
  auto uri = parse_object_uri(concat(*output, output->ends_with('/') ? "" : "/", "x"));
  if (!uri) return pass(uri);
  return {};
}

}  // namespace drover
