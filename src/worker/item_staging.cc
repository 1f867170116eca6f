#include "worker/item_staging.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "ports/descriptor.h"
#include "run/remove_tree.h"
#include "worker/job_staging.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kStagingThreads = 6;
constexpr int kDeepest = 100;
constexpr const char* kBefore = "waiting";
constexpr const char* kAfter = "leaving";

Result<void> make_folder(const std::string& path, mode_t mode) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return std::unexpected(errno_error(error.value(), concat("cannot make ", path)));
  // Whatever the umask is: in a container others read and write here.
  if (::chmod(path.c_str(), mode) != 0) return std::unexpected(errno_error(errno, path));
  return {};
}

/// A folder that is one: no link to it.
Result<Descriptor> open_folder(int parent, const std::string& name) {
  Descriptor out(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!out) return std::unexpected(errno_error(errno, name));
  return out;
}

/// In the order of their names.
Result<std::vector<std::string>> names_in_folder(const Descriptor& folder) {
  const int again = ::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0);
  DIR* const opened = again < 0 ? nullptr : ::fdopendir(again);
  if (opened == nullptr) return std::unexpected(errno_error(errno, "cannot read a folder"));
  std::vector<std::string> out;
  while (const dirent* it = ::readdir(opened)) {
    const std::string_view name = it->d_name;
    if (name != "." && name != "..") out.emplace_back(name);
  }
  ::closedir(opened);
  std::ranges::sort(out);
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
    soon_.clear();
    ahead_.clear();
  }
  changed_.notify_all();
  for (std::thread& it : threads_) it.join();
  (void)remove_tree(folder_);
}

std::string ItemStaging::name_of(Token token) {
  return concat(token.grant.value, "-", token.item.value);
}

std::size_t ItemStaging::waiting() const {
  return static_cast<std::size_t>(std::ranges::count_if(items_, [](const auto& it) { return !it.second.is_in_slot; }));
}

void ItemStaging::run_later(Urgency urgency, Task task) {
  {
    const std::lock_guard lock(mutex_);
    (urgency == Urgency::soon ? soon_ : ahead_).push_back(std::move(task));
    if (threads_.size() < kStagingThreads) threads_.emplace_back([this] { work(); });
  }
  changed_.notify_one();
}

void ItemStaging::work() {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !soon_.empty() || !ahead_.empty() || ending_; });
    if (ending_) return;
    std::deque<Task>& tasks = soon_.empty() ? ahead_ : soon_;
    const Task task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task();
  }
}

void ItemStaging::prepare(Token token, const std::string& uri, StoreOpener::Variable variable, Done done) {
  const auto [it, is_new] = items_.try_emplace(token);
  DROVER_CHECK(is_new, "an item is prepared once");
  Item& item = it->second;
  item.folder = concat(folder_, "/", kBefore, "/", name_of(token));
  const auto opener = std::make_shared<StoreOpener>(network_, std::move(variable));
  run_later(Urgency::ahead, [this, token, uri, opener, folder = item.folder, stop = item.stop.get_token(),
                             done = std::move(done), alive = std::weak_ptr(alive_)] {
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
  item.is_in_slot = true;
  return item.folder;
}

void ItemStaging::collect(Token token, const std::string& prefix, StoreOpener::Variable variable, Collected done) {
  Item& item = items_.at(token);
  item.is_collected = true;
  // Out of the reach of whatever runs in the slot next. If it cannot be moved, it is not there any more.
  std::string place = concat(folder_, "/", kAfter);
  std::error_code error;
  fs::create_directories(place, error);
  place += concat("/", name_of(token));
  fs::rename(item.folder, place, error);
  if (!error) item.folder = place;
  const auto opener = std::make_shared<StoreOpener>(network_, std::move(variable));
  run_later(Urgency::soon, [this, token, prefix, opener, folder = item.folder, stop = item.stop.get_token(),
                            done = std::move(done), alive = std::weak_ptr(alive_)] {
    auto uploaded = upload(folder, prefix, *opener, stop);
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
  std::uint64_t uploaded = 0;
  auto own = open_folder(AT_FDCWD, folder);
  // One that the item has removed holds nothing.
  if (!own && own.error().code == ErrorCode::not_found) return 0;
  if (!own) return pass(own);
  const std::string whole = concat(prefix, prefix.ends_with('/') ? "" : "/");
  auto done = upload_folder(own->get(), "out", whole, 0, opener, stop, uploaded);
  if (!done) return pass(done);
  return uploaded;
}

Result<void> ItemStaging::upload_folder(int parent, const std::string& name, const std::string& prefix, int depth,
                                        const StoreOpener& opener, const std::stop_token& stop,
                                        std::uint64_t& uploaded) {
  const auto problem = [](const std::string& uri, const Error& error) {
    return fail(error.code, concat("cannot upload ", uri, ": ", error.message), error.next);
  };
  if (depth == kDeepest) {
    return fail(ErrorCode::bad_input,
                concat("cannot upload ", prefix, ": folders are nested more than ", kDeepest, " deep"));
  }
  auto folder = open_folder(parent, name);
  if (!folder && depth == 0 && folder.error().code == ErrorCode::not_found) return {};
  if (!folder) return problem(prefix, folder.error());
  auto names = names_in_folder(*folder);
  if (!names) return problem(prefix, names.error());
  for (const std::string& entry : *names) {
    const std::string uri = prefix + entry;
    struct stat about{};
    if (::fstatat(folder->get(), entry.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISDIR(about.st_mode)) {
      auto done = upload_folder(folder->get(), entry, uri + "/", depth + 1, opener, stop, uploaded);
      if (!done) return done;
      continue;
    }
    if (!S_ISREG(about.st_mode)) continue;
    const Descriptor file(::openat(folder->get(), entry.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file) return problem(uri, errno_error(errno, entry));
    auto place = parse_object_uri(uri);
    if (!place) return problem(uri, place.error());
    auto store = opener.open(*place);
    if (!store) return problem(uri, store.error());
    auto sent = transfer_.upload_open(
        **store, [&opener, &place] { return opener.open(*place); }, file.get(), entry, place->key, [](std::uint64_t) {},
        stop);
    if (!sent) return problem(uri, sent.error());
    ++uploaded;
  }
  return {};
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
  run_later(Urgency::soon, [folder = std::move(folder)] { (void)remove_tree(folder); });
}

}  // namespace drover
