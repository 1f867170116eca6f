// drover man: writes the manual pages.
#include <boost/json.hpp>
#include <filesystem>

#include "base/units.h"
#include "build_info.h"
#include "cli/manual.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "keys/private_file.h"

namespace drover {
namespace {

struct ManFlags {
  CommonFlags common;
  std::string folder;
};

Result<int> write_manual(const ManFlags& flags, const CommandNode& root) {
  std::error_code error;
  std::filesystem::create_directories(flags.folder, error);
  if (error) return std::unexpected(errno_error(error.value(), flags.folder, "use a folder that you can write to"));
  boost::json::array files;
  for (const ManualPage& page : manual_pages(root, DROVER_VERSION)) {
    const std::string path = (std::filesystem::path(flags.folder) / page.file).string();
    if (auto written = replace_file(path, page.text, Readers::everyone); !written) return pass(written);
    files.emplace_back(path);
  }
  if (flags.common.json) {
    show("{}\n", boost::json::serialize(boost::json::object{{"files", std::move(files)}}));
  } else if (!flags.common.quiet) {
    show("{} in {}\n", plural(files.size(), "page"), flags.folder);
  }
  return kAllSucceeded;
}

}  // namespace

void add_man(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<ManFlags>();
  Verb verb = app.add_subcommand("man", "Write the manual pages: drover.1 and one for each verb");
  verb.add_flag("--json", flags->common.json, "Print machine-readable JSON");
  verb.add_flag("--quiet,-q", flags->common.quiet, "Print only errors");
  verb.add_option("dir", flags->folder, "Directory to write the manual pages to").type_name("DIR").required();
  verb.footer("Example:\n  drover man ~/.local/share/man/man1");
  verb.callback([flags, &app, &invocation] {
    auto done = write_manual(*flags, command_tree(app.app()));
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
