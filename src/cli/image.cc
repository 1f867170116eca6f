// drover image: the container images that are kept on this machine.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/units.h"
#include "cli/image_here.h"
#include "cli/print.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "engine/system_clock.h"
#include "screen/time_words.h"
#include "store/run_folder.h"

namespace drover {
namespace json = boost::json;
namespace {

struct ImageFlags {
  CommonFlags common;
  std::string image;
  std::string most;
  std::string unused;
};

Result<std::unique_ptr<ImageStore>> open_store(const ImageFlags& flags) {
  const std::string root = data_root(flags.common.data);
  auto limits = image_limits(root);
  if (!limits) return pass(limits);
  auto store = ImageStore::open(images_folder(root), *limits);
  if (!store) return std::unexpected(store.error().error());
  return std::move(*store);
}

std::string names_of(const StoredImage& image) {
  std::string out;
  for (const std::string& name : image.names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "-" : out;
}

json::object to_json(const StoredImage& image) {
  return {{"digest", image.digest}, {"names", json::array(image.names.begin(), image.names.end())},
          {"bytes", image.bytes},   {"own_bytes", image.own_bytes},
          {"layers", image.layers}, {"used_ms", image.used_ms},
          {"in_use", image.in_use}};
}

std::string short_digest(const std::string& digest) {
  const std::size_t colon = digest.find(':');
  return digest.substr(colon == std::string::npos ? 0 : colon + 1, 12);
}

json::array to_json(const std::vector<StoredImage>& images) {
  json::array out;
  for (const StoredImage& image : images) out.push_back(to_json(image));
  return out;
}

Result<int> list_images(const ImageFlags& flags) {
  auto store = open_store(flags);
  if (!store) return pass(store);
  const std::vector<StoredImage> images = (*store)->list();
  if (flags.common.json) {
    show("{}\n", json::serialize(json::object{{"images", to_json(images)}}));
    return kAllSucceeded;
  }
  using enum Column::Align;
  Table table({{.title = "IMAGE", .cut = true},
               {.title = "DIGEST"},
               {.title = "SIZE", .align = right},
               {.title = "OWN", .align = right},
               {.title = "LAYERS", .align = right},
               {.title = "USED", .align = right}});
  const std::int64_t now_ms = SystemWallClock().epoch_ms();
  for (const StoredImage& image : images) {
    table.add(
        {names_of(image), short_digest(image.digest), format_size(image.bytes), format_size(image.own_bytes),
         std::to_string(image.layers),
         image.in_use
             ? "now"
             : duration_words(static_cast<double>(std::max<std::int64_t>(0, now_ms - image.used_ms)) / 1000) + " ago"});
  }
  table.print();
  return kAllSucceeded;
}

Result<int> pull_image(const ImageFlags& flags) {
  const ContainerOptions options{.image = flags.image};
  const std::string root = data_root(flags.common.data);
  MachineRunner runner(containers_folder(root));
  auto plan = image_here(root, runner, options, flags.common.quiet || flags.common.json);
  if (!plan) return pass(plan);
  if (flags.common.json) {
    show("{}\n", json::serialize(json::object{{"image", (*plan)->name}, {"digest", (*plan)->digest}}));
  } else if (!flags.common.quiet) {
    show("image {} is stored on this machine{}{}\n", (*plan)->name, (*plan)->digest.empty() ? "" : ": ",
         (*plan)->digest);
  }
  return kAllSucceeded;
}

Result<int> prune_images(const ImageFlags& flags) {
  PrunePolicy policy{.now_ms = SystemWallClock().epoch_ms()};
  if (!flags.most.empty()) {
    auto most = parse_size(flags.most);
    if (!most) return pass(most);
    policy.most_bytes = *most;
  }
  if (!flags.unused.empty()) {
    auto unused = parse_duration_ms(flags.unused);
    if (!unused) return pass(unused);
    policy.unused_for_ms = *unused;
  }
  if (flags.most.empty() && flags.unused.empty()) policy.most_bytes = 0;
  auto store = open_store(flags);
  if (!store) return pass(store);
  auto report = (*store)->prune(policy);
  if (!report) return std::unexpected(report.error().error());
  if (flags.common.json) {
    show("{}\n", json::serialize(json::object{{"removed", to_json(report->removed)},
                                              {"freed_bytes", report->freed_bytes},
                                              {"kept_bytes", report->kept_bytes},
                                              {"in_use", report->in_use}}));
    return kAllSucceeded;
  }
  if (flags.common.quiet) return kAllSucceeded;
  for (const StoredImage& image : report->removed) show("removed {} {}\n", short_digest(image.digest), names_of(image));
  show("{} freed, {} kept{}\n", format_size(report->freed_bytes), format_size(report->kept_bytes),
       report->in_use == 0 ? "" : fmt::format("; {} in use", plural(report->in_use, "image")));
  return kAllSucceeded;
}

}  // namespace

void add_image(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<ImageFlags>();
  Verb verb = app.add_subcommand("image", "List, fetch and remove the container images on this machine");
  verb.require_subcommand(1);
  verb.footer("Examples:\n  drover image list\n  drover image pull python:3.12\n  drover image prune --unused 7d");
  const auto add = [&](const char* name, const char* help, const char* example, auto act) {
    Verb it = verb.add_subcommand(name, help);
    add_common_flags(it, flags->common);
    it.footer(fmt::format("Example:\n  {}", example));
    it.callback([flags, act, &invocation] {
      auto status = act(*flags);
      invocation.exit_status = status ? *status : failure(status.error());
    });
    return it;
  };
  add("list", "List the images on this machine", "drover image list", list_images);
  add("pull", "Fetch an image before an item needs it", "drover image pull python:3.12", pull_image)
      .add_option("image", flags->image, "NAME[:TAG|@DIGEST], oci:PATH, docker-archive:PATH or docker-daemon:NAME")
      .type_name("IMAGE")
      .required();
  Verb pruning =
      add("prune", "Remove unused images (default: all of them)", "drover image prune --unused 7d", prune_images);
  pruning
      .add_option("--most", flags->most,
                  "Remove only enough images, least recently used first, to get down to this total size")
      .type_name("SIZE");
  pruning.add_option("--unused", flags->unused, "Remove only images that have not been used for this long")
      .type_name("TIME");
}

}  // namespace drover
