#include "worker/item_staging.h"

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "run/remove_tree.h"
#include "worker/job_staging.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kStagingThreads = 6;
constexpr const char* kOwn = "waiting";

Result<void> make_folder(const std::string& path, mode_t mode) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return std::unexpected(errno_error(error.value(), concat("cannot make ", path)));
  // Whatever the umask is: in a container others read and write here.
  if (::chmod(path.c_str(), mode) != 0) return std::unexpected(errno_error(errno, path));
  return {};
}

/// Regular files below a folder, by their paths. Links are not followed: they could lead to what is not the item's.
Result<std::vector<std::string>> files_below(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_symlink(error) && it->is_regular_file(error)) {
      out.push_back(it->path().lexically_relative(folder).generic_string());
    }
  }
  if (error) return std::unexpected(errno_error(error.value(), concat("cannot read ", folder)));
  return out;
}

}  // namespace

ItemStaging::ItemStaging(std::string folder, StoreOpener::Outside network, Post post)
    : folder_(std::move(folder)), network_(std::move(network)), post_(std::move(post)) {
  (void)remove_tree(folder_);  // an earlier process may have been killed; what cannot be removed harms nothing
}

ItemStaging::~ItemStaging() {
  alive_.reset();
  for (auto& [token, item] : items_) item.stop.request_stop();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    tasks_.clear();
  }
  changed_.notify_all();
  for (std::thread& it : threads_) it.join();
  (void)remove_tree(folder_);
}

std::string ItemStaging::name_of(Token token) {
  return concat(token.grant.value, "-", token.item.value);
}

void ItemStaging::run_later(Task task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (threads_.size() < kStagingThreads) threads_.emplace_back([this] { work(); });
  }
  changed_.notify_one();
}

void ItemStaging::work() {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !tasks_.empty() || ending_; });
    if (ending_) return;
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
  }
}

void ItemStaging::prepare(Token token, const std::string& uri, StoreOpener::Variable variable, Done done) {
  const auto [it, is_new] = items_.try_emplace(token);
  DROVER_CHECK(is_new, "an item is prepared once");
  Item& item = it->second;
  item.folder = concat(folder_, "/", kOwn, "/", name_of(token));
  const auto opener = std::make_shared<StoreOpener>(network_, std::move(variable));
  run_later([this, token, uri, opener, folder = item.folder, stop = item.stop.get_token(), done = std::move(done),
             alive = std::weak_ptr(alive_)] {
    auto fetched = fetch(folder, uri, *opener, stop);
    post_([this, token, fetched = std::move(fetched), done, alive, folder] {
      if (alive.expired()) return;
      const auto found = items_.find(token);
      if (found == items_.end()) return remove_later(folder);  // it was dropped meanwhile
      found->second.fetched = fetched;
      done();
    });
  });
}

Result<ItemStaging::Fetched> ItemStaging::fetch(const std::string& folder, const std::string& uri,
                                                const StoreOpener& opener, const std::stop_token& stop) {
  const auto begun = std::chrono::steady_clock::now();
  for (const auto& [name, mode] : {std::pair("", 0755), std::pair("/in", 0755), std::pair("/out", 0777)}) {
    if (auto made = make_folder(folder + name, static_cast<mode_t>(mode)); !made) return pass(made);
  }
  if (uri.empty()) return Fetched{};
  if (stop.stop_requested()) return fail(ErrorCode::stopped, "the download was given up");
  auto place = parse_object_uri(uri);
  if (!place) return pass(place);
  auto store = opener.open(*place);
  if (!store) return pass(store);
  const std::string name = staged_file_name(*place);
  const std::string path = concat(folder, "/in/", name);
  auto got = transfer_.download(
      **store, [&opener, &place] { return opener.open(*place); }, place->key, path, [](std::uint64_t) {}, stop);
  if (!got) {
    got.error().message = concat("cannot download ", uri, ": ", got.error().message);
    return pass(got);
  }
  if (::chmod(path.c_str(), 0644) != 0) return std::unexpected(errno_error(errno, path));
  const auto took = std::chrono::steady_clock::now() - begun;
  return Fetched{name, std::chrono::duration_cast<std::chrono::microseconds>(took).count()};
}

Result<std::string> ItemStaging::slot_folder(std::size_t slot) const {
  std::string out = concat(folder_, "/slot-", slot);
  if (auto made = make_folder(out, 0755); !made) return pass(made);
  return out;
}

Result<std::string> ItemStaging::move_to_slot(Token token, std::size_t slot) {
  auto folder = slot_folder(slot);
  if (!folder) return pass(folder);
  Item& item = items_.at(token);
  const std::string place = concat(*folder, "/", name_of(token));
  if (place != item.folder) {
    std::error_code error;
    fs::rename(item.folder, place, error);
    if (error)
      return std::unexpected(errno_error(error.value(), concat("cannot move the folder of the item to ", place)));
    item.folder = place;
  }
  return item.folder;
}

void ItemStaging::collect(Token token, const std::string& prefix, StoreOpener::Variable variable, Collected done) {
  Item& item = items_.at(token);
  item.is_collected = true;
  const auto opener = std::make_shared<StoreOpener>(network_, std::move(variable));
  run_later([this, token, prefix, opener, folder = item.folder, stop = item.stop.get_token(), done = std::move(done),
             alive = std::weak_ptr(alive_)] {
    auto uploaded = upload(folder + "/out", prefix, *opener, stop);
    post_([this, token, uploaded = std::move(uploaded), done, alive] {
      if (alive.expired()) return;
      Item& collected = items_.at(token);
      collected.is_collected = false;
      if (collected.is_dropped) {
        remove_later(std::move(collected.folder));
        items_.erase(token);
      }
      done(uploaded);
    });
  });
}

Result<std::uint64_t> ItemStaging::upload(const std::string& folder, const std::string& prefix,
                                          const StoreOpener& opener, const std::stop_token& stop) {
  auto files = files_below(folder);
  if (!files) return pass(files);
  if (files->empty()) return 0;
  const bool is_whole = prefix.ends_with('/');
  for (const std::string& file : *files) {
    const std::string uri = concat(prefix, is_whole ? "" : "/", file);
    const auto problem = [&](Error error) {
      error.message = concat("cannot upload ", uri, ": ", error.message);
      return std::unexpected(std::move(error));
    };
    auto place = parse_object_uri(uri);
    if (!place) return problem(std::move(place.error()));
    auto store = opener.open(*place);
    if (!store) return problem(std::move(store.error()));
    auto sent = transfer_.upload(
        **store, [&opener, &place] { return opener.open(*place); }, concat(folder, "/", file), place->key,
        [](std::uint64_t) {}, stop);
    if (!sent) return problem(std::move(sent.error()));
  }
  return files->size();
}

void ItemStaging::stop(Token token) {
  if (const auto found = items_.find(token); found != items_.end()) found->second.stop.request_stop();
}

void ItemStaging::drop(Token token) {
  const auto found = items_.find(token);
  if (found == items_.end()) return;
  Item& item = found->second;
  item.stop.request_stop();
  if (item.is_collected) {
    item.is_dropped = true;
    return;
  }
  if (item.fetched) remove_later(std::move(item.folder));  // otherwise when the fetch has ended
  items_.erase(found);
}

void ItemStaging::remove_later(std::string folder) {
  run_later([folder = std::move(folder)] { (void)remove_tree(folder); });
}

}  // namespace drover
