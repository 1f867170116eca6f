#include "api/iam/iam.h"

#include <algorithm>
#include <cctype>

#include "api/aws/page.h"
#include "ports/entropy.h"

extern "C" const char drover_iam_operations_begin[];
extern "C" const char drover_iam_operations_end[];

namespace drover::aws {

IamApi::IamApi(Backend& backend, const Account& account, std::function<std::int64_t()> now_ms)
    : AwsApi(backend, account,
             {.service = "iam",
              .protocol = Protocol::query,
              .bad_input = "ValidationError",
              .xml_namespace = "https://iam.amazonaws.com/doc/2010-05-08/",
              .takes_session_tokens = false},
             {drover_iam_operations_begin, drover_iam_operations_end}),
      now_ms_(std::move(now_ms)) {
  serve_roles();
  serve_policies();
  serve_profiles();
}

// Of a role and an instance profile the profile is what changes. One that is not there yet has the ARN that it will
// get.
std::vector<std::string> IamApi::resources(const Call& call) const {
  const auto named = [&](const char* member) -> std::string {
    const boost::json::value* it = call.input.if_contains(member);
    return it == nullptr ? std::string() : std::string(it->get_string());
  };
  const auto arn_of = [&](const Documents& documents, std::string_view kind, const std::string& name) {
    if (const auto found = documents.find(name); found && *found) {
      return std::string((*found)->value.at("Arn").get_string());
    }
    return account().arn("iam", "", concat(kind, path_in(call.input), name));
  };
  if (const std::string name = named("InstanceProfileName"); !name.empty()) {
    return {arn_of(profiles(), "instance-profile", name)};
  }
  if (const std::string name = named("RoleName"); !name.empty()) return {arn_of(roles(), "role", name)};
  if (const std::string arn = named("PolicyArn"); !arn.empty()) return {arn};
  const std::string policy = named("PolicyName");
  return {policy.empty() ? "*" : account().arn("iam", "", concat("policy", path_in(call.input), policy))};
}

std::vector<std::string> IamApi::passed_roles(const Call& call) const {
  if (call.operation->name != "AddRoleToInstanceProfile") return {};
  return {std::string(call.input.at("RoleName").get_string())};
}

IamApi::Found<Stored> IamApi::find(const Documents& documents, const char* what, const std::string& name) const {
  auto found = documents.find(name);
  if (!found) return std::unexpected(fault(found.error()));
  if (!*found) return failed("NoSuchEntity", concat("The ", what, " with name ", name, " cannot be found."), 404);
  return std::move(**found);
}

std::string new_unique_id(std::string_view prefix) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  constexpr int kLength = 17;
  std::string out(prefix);
  for (int i = 0; i < kLength; ++i) out += kLetters[random_number() % kLetters.size()];
  return out;
}

std::expected<void, Fault> check_names(const boost::json::object& input, std::string_view name_member) {
  constexpr std::string_view kSigns = "_+=,.@-";
  const auto is_plain = [&](unsigned char c) { return std::isalnum(c) != 0 || kSigns.contains(static_cast<char>(c)); };
  if (!std::ranges::all_of(input.at(name_member).get_string(), is_plain)) {
    return failed("ValidationError", concat(name_member, " must have letters, digits and ", kSigns, " only"));
  }
  const std::string path = path_in(input);
  const bool is_path = path.starts_with('/') && path.ends_with('/') &&
                       std::ranges::all_of(path, [](unsigned char c) { return c > 0x20 && c < 0x7F; });
  if (!is_path) return failed("ValidationError", "Path must begin and end with a slash");
  return {};
}

Outcome iam_page(const boost::json::object& input, std::string_view member, boost::json::array list) {
  auto out = page_of({"Marker", "MaxItems", "ValidationError"}, input, member, std::move(list));
  if (out) (*out)["IsTruncated"] = out->contains("Marker");
  return out;
}

std::string path_in(const boost::json::object& input) {
  const boost::json::value* path = input.if_contains("Path");
  return path == nullptr ? "/" : std::string(path->get_string());
}

}  // namespace drover::aws
