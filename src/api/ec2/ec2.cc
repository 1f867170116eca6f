#include "api/ec2/ec2.h"

#include <algorithm>

#include "ports/entropy.h"

extern "C" const char drover_ec2_operations_begin[];
extern "C" const char drover_ec2_operations_end[];

namespace drover::aws {

namespace json = boost::json;

namespace {

std::expected<void, Fault> check_dry_run(const Call& call) {
  const json::value* it = call.input.if_contains("DryRun");
  if (it == nullptr || !it->get_bool()) return {};
  return failed("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", 412);
}

}  // namespace

Ec2Api::Ec2Api(Backend& backend, const Account& account, std::function<std::int64_t()> now_ms)
    : AwsApi(backend, account,
             {.service = "ec2",
              .protocol = Protocol::ec2,
              .bad_input = "InvalidParameterValue",
              .xml_namespace = "http://ec2.amazonaws.com/doc/2016-11-15/"},
             {drover_ec2_operations_begin, drover_ec2_operations_end}),
      now_ms_(std::move(now_ms)) {
  serve_network();
  serve_security_groups();
  serve_key_pairs();
  serve_images();
  serve_templates();
  serve_template_versions();
  serve_instance_types();
  serve_tags();
}

// As AWS has it: descriptions are of everything; a key pair's ARN has its name, the others' have their id; one that is
// being made has none yet; that of an image names no account.
std::vector<std::string> Ec2Api::resources(const Call& call) const {
  const std::string& operation = call.operation->name;
  if (operation.starts_with("Describe")) return {"*"};
  std::vector<std::string> out;
  const auto add = [&](std::string_view type, std::string_view name) {
    const Account nobody{.id = ""};
    const Account& owner = type == kImages.type ? nobody : account();
    out.push_back(owner.arn("ec2", call.region, concat(type, "/", name)));
  };
  const auto add_one = [&](const Kind& kind, const Key& key, std::string_view value) {
    const std::string_view shown = &kind == &kKeyPairs ? kind.name.member : kind.id.member;
    if (shown == key.member) return add(kind.type, value);
    const auto found = find(kind, call, key, value);
    add(kind.type, found && *found ? member_text((*found)->value, shown) : "*");
  };
  for (const Kind* kind : {&kSecurityGroups, &kKeyPairs, &kTemplates}) {
    const bool by_id = call.input.contains(kind->id.member);
    if (!by_id && !call.input.contains(kind->name.member)) continue;
    const Key& key = by_id ? kind->id : kind->name;
    add_one(*kind, key, member_text(call.input, key.member));
  }
  if (const json::value* ids = call.input.if_contains("Resources")) {
    for (const json::value& it : ids->get_array()) {
      const std::string_view id = it.get_string();
      for (const Kind* kind : tagged_kinds()) {
        if (id.starts_with(kind->prefix)) add_one(*kind, kind->id, id);
      }
    }
  }
  if (operation == "CreateImage") add(kImages.type, "*");
  return out.empty() ? std::vector<std::string>{"*"} : out;
}

void Ec2Api::on_read(std::string_view operation, Outcome (Ec2Api::*answer)(const Call& call) const) {
  AwsApi::on_read(operation, Action::read, [this, answer](const Call& call) -> Outcome {
    if (auto wanted = check_dry_run(call); !wanted) return std::unexpected(std::move(wanted.error()));
    return (this->*answer)(call);
  });
}

void Ec2Api::on_edit(std::string_view operation, EditOutcome (Ec2Api::*answer)(const Call& call) const) {
  AwsApi::on_edit(operation, Action::administrate, [this, answer](const Call& call) -> EditOutcome {
    if (auto wanted = check_dry_run(call); !wanted) return std::unexpected(std::move(wanted.error()));
    return (this->*answer)(call);
  });
}

Ec2Api::Found<std::vector<Stored>> Ec2Api::all_of(const Kind& kind, const Call& call) const {
  if (kind.load != nullptr) return (this->*kind.load)(call);
  auto all = documents(kind).all();
  if (!all) return std::unexpected(fault(all.error()));
  return std::move(*all);
}

Ec2Api::Found<std::unique_ptr<Stored>> Ec2Api::find(const Kind& kind, const Call& call, const Key& key,
                                                    std::string_view value) const {
  auto all = all_of(kind, call);
  if (!all) return std::unexpected(std::move(all.error()));
  Stored* found = find_by(*all, key.member, value);
  if (found == nullptr) return nullptr;
  return std::make_unique<Stored>(std::move(*found));
}

Ec2Api::Found<Stored> Ec2Api::chosen(const Kind& kind, const Call& call) const {
  const bool by_id = call.input.contains(kind.id.member);
  const bool by_name = call.input.contains(kind.name.member);
  if (!by_id && !by_name) {
    return failed("MissingParameter",
                  concat("The request must contain the parameter ", kind.id.member, " or ", kind.name.member));
  }
  if (by_id && by_name) {
    return failed("InvalidParameterCombination",
                  concat(kind.id.member, " and ", kind.name.member, " cannot be combined"));
  }
  const Key& key = by_id ? kind.id : kind.name;
  const std::string_view value = member_text(call.input, key.member);
  auto found = find(kind, call, key, value);
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) {
    return failed(std::string(key.not_found), concat("The ", kind.type, " '", value, "' does not exist"));
  }
  return std::move(**found);
}

std::string new_ec2_id(std::string_view prefix) {
  std::string id = concat(prefix, "0");
  for (const char c : random_uuid().text().substr(0, 18)) {
    if (c != '-') id += c;
  }
  return id;
}

Stored* find_by(std::vector<Stored>& all, std::string_view member, std::string_view value) {
  const auto found =
      std::ranges::find_if(all, [&](const Stored& it) { return member_text(it.value, member) == value; });
  return found == all.end() ? nullptr : &*found;
}

std::string_view member_text(const json::object& object, std::string_view member) {
  const json::value* it = object.if_contains(member);
  return it == nullptr ? std::string_view() : std::string_view(it->get_string());
}

}  // namespace drover::aws
