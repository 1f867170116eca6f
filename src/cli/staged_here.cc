#include "cli/staged_here.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "objects/file_transfer.h"
#include "worker/job_staging.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

}  // namespace

const char* StagedHere::inside() {
  return "/run/drover/items";
}

StagedHere::~StagedHere() {
  std::error_code ignored;
  if (fs::exists(output(), ignored) && !fs::is_empty(output(), ignored)) return;
  fs::remove_all(folder_, ignored);
}

Result<std::unique_ptr<StagedHere>> StagedHere::make(const RecordedItem& item, const StoreOpener& opener) {
  auto staging = make_job_staging(item.definition);
  if (!staging) return pass(staging);
  if (auto fits = check_staging(*staging, item.text, item.index); !fits) return pass(fits);
  std::string folder = (fs::temp_directory_path() / "drover-item-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return std::unexpected(errno_error(errno, concat("cannot make ", folder)));
  std::unique_ptr<StagedHere> out(new StagedHere(folder));
  // In a container another user may read and write there; nobody else on this machine.
  const int most = item.definition.container ? 0777 : 0700;
  for (const auto& [path, mode] :
       {std::pair(folder, most & 0755), std::pair(folder + "/in", most & 0755), std::pair(out->output(), most)}) {
    std::error_code ignored;
    fs::create_directory(path, ignored);
    if (::chmod(path.c_str(), static_cast<mode_t>(mode)) != 0) return std::unexpected(errno_error(errno, path));
  }
  const std::string seen = item.definition.container ? inside() : folder;
  const auto uri = staging->input_of(item.text);
  if (uri && !uri->empty()) {
    auto place = parse_object_uri(*uri);
    if (!place) return pass(place);
    auto store = opener.open(*place);
    if (!store) return pass(store);
    const std::string name = staged_file_name(*place);
    FileTransfer transfer;
    auto got = transfer.download(
        **store, [&] { return opener.open(*place); }, place->key, concat(folder, "/in/", name), [](std::uint64_t) {},
        {});
    if (!got) {
      got.error().message = concat("cannot download ", *uri, ": ", got.error().message);
      return pass(got);
    }
    const std::string path = concat(seen, "/in/", name);
    out->item_.text = staging->item_with_file(item.text, path);
    out->item_.environment.push_back(concat("DROVER_INPUT=", path));
  }
  if (staging->output) out->item_.environment.push_back(concat("DROVER_OUTPUT_DIR=", seen, "/out"));
  return out;
}

}  // namespace drover
