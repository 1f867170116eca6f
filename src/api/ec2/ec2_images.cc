#include <algorithm>

#include "api/ec2/ec2.h"
#include "wire/aws/times.h"

namespace drover::aws {

namespace json = boost::json;

const Ec2Api::Kind Ec2Api::kImages{.type = "image",
                                   .prefix = "ami-",
                                   .documents = "ec2.image",
                                   .list = "Images",
                                   .id = {"ImageIds", "ImageId", "InvalidAMIID.NotFound"},
                                   .name = {},
                                   .filters = {{"name", "Name"},
                                               {"image-id", "ImageId"},
                                               {"description", "Description"},
                                               {"is-public", "Public"},
                                               {"owner-id", "OwnerId"},
                                               {"state", "State"}}};

void Ec2Api::serve_images() {
  on_edit("CreateImage", &Ec2Api::create_image);
  on_read("DescribeImages", &Ec2Api::describe_images);
}

EditOutcome Ec2Api::create_image(const Call& call) const {
  const std::string name(member_text(call.input, "Name"));
  auto known = find(kImages, call, {{}, "Name", {}}, name);
  if (!known) return std::unexpected(std::move(known.error()));
  if (*known) {
    return failed("InvalidAMIName.Duplicate",
                  concat("AMI name ", name, " is already in use by AMI ", member_text((*known)->value, "ImageId")));
  }
  auto tags = tags_in(kImages, call);
  if (!tags) return std::unexpected(std::move(tags.error()));
  const std::string id = new_ec2_id(kImages.prefix);
  json::object image{{"ImageId", id},
                     {"Name", name},
                     {"OwnerId", account().id},
                     {"State", "available"},
                     {"CreationDate", iso_time(now_ms_())},
                     {"Public", false}};
  if (const json::value* it = call.input.if_contains("Description")) image["Description"] = *it;
  if (!tags->empty()) image["Tags"] = std::move(*tags);
  return Edit{{documents(kImages).add(name, image)}, {{"ImageId", id}}};
}

Outcome Ec2Api::describe_images(const Call& call) const {
  const json::value* owners = call.input.if_contains("Owners");
  const bool is_ours = owners == nullptr || owners->get_array().empty() ||
                       std::ranges::any_of(owners->get_array(), [&](const json::value& it) {
                         return it == "self" || it == json::value(account().id);
                       });
  return is_ours ? describe(kImages, call) : describe(kImages, call, {});
}

}  // namespace drover::aws
