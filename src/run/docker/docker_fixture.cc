#include "run/docker/docker_fixture.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <boost/json/array.hpp>

#include "base/text.h"
#include "base/url.h"

namespace drover {
namespace {

constexpr std::chrono::seconds kStartPatience{60};

/// A program that dies with this one.
pid_t spawn(const std::vector<std::string>& arguments, const std::string& log_path) {
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  const int log = ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const pid_t pid = ::fork();
  if (pid != 0) {
    ::close(log);
    return pid;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::setsid();
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
  ::execvp(words[0], words.data());
  ::_exit(127);
}

void end(pid_t pid) {
  if (pid <= 0) return;
  ::kill(pid, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + kStartPatience;
  while (::waitpid(pid, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) ::kill(pid, SIGKILL);
    ::poll(nullptr, 0, 10);
  }
}

void unmount_below(const std::filesystem::path& folder) {
  std::vector<std::string> places;
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string device;
    std::string place;
    fields >> device >> place;
    if (place.starts_with(folder.string() + "/")) places.push_back(place);
  }
  for (auto place = places.rbegin(); place != places.rend(); ++place) ::umount2(place->c_str(), MNT_DETACH);
}

/// A root folder with busybox in it, as an archive.
void write_root(const std::filesystem::path& path) {
  archive* tar = ::archive_write_new();
  ::archive_write_set_format_pax_restricted(tar);
  ::archive_write_open_filename(tar, path.c_str());
  archive_entry* entry = ::archive_entry_new();
  const auto add = [&](const std::string& name, unsigned type, unsigned mode, const std::string& bytes) {
    ::archive_entry_clear(entry);
    ::archive_entry_set_pathname(entry, name.c_str());
    ::archive_entry_set_filetype(entry, type);
    ::archive_entry_set_perm(entry, mode);
    if (type == AE_IFLNK) ::archive_entry_set_symlink(entry, bytes.c_str());
    ::archive_entry_set_size(entry, type == AE_IFREG ? static_cast<la_int64_t>(bytes.size()) : 0);
    ::archive_write_header(tar, entry);
    if (type == AE_IFREG) ::archive_write_data(tar, bytes.data(), bytes.size());
  };
  for (const char* folder : {"bin", "etc", "work", "proc", "dev", "sys"}) add(folder, AE_IFDIR, 0755, {});
  add("tmp", AE_IFDIR, 01777, {});
  const std::string busybox = read_file("/bin/busybox");
  EXPECT_FALSE(busybox.empty()) << "busybox-static is not installed";
  add("bin/busybox", AE_IFREG, 0755, busybox);
  for (const char* name :
       {"sh",  "true", "echo", "cat",   "sleep", "env",      "id",   "head", "tr",    "dd",    "kill",  "ls",
        "pwd", "wc",   "seq",  "touch", "stat",  "hostname", "grep", "df",   "mount", "nproc", "printf"}) {
    add(concat("bin/", name), AE_IFLNK, 0777, "busybox");
  }
  add("bin/plain", AE_IFREG, 0644, "not executable");
  add("etc/passwd", AE_IFREG, 0644, "root:x:0:0::/:/bin/sh\nworker:x:1234:1234::/:/bin/sh\n");
  add("etc/group", AE_IFREG, 0644, "root:x:0:\nworker:x:1234:\n");
  ::archive_entry_free(entry);
  EXPECT_EQ(::archive_write_close(tar), ARCHIVE_OK) << ::archive_error_string(tar);
  ::archive_write_free(tar);
}

bool answers(const std::string& socket) {
  return std::filesystem::exists(socket) && DockerDaemon::connect(socket).has_value();
}

}  // namespace

TestDaemon& TestDaemon::shared() {
  static TestDaemon daemon;
  return daemon;
}

TestDaemon::TestDaemon() {
  std::string name = "/tmp/drover-docker.XXXXXX";
  folder_ = ::mkdtemp(name.data());
  const std::string containerd = folder_ / "containerd.sock";
  std::ofstream(folder_ / "containerd.toml")
      << "version = 2\nroot = \"" << (folder_ / "containerd").string() << "\"\nstate = \""
      << (folder_ / "containerd-state").string()
      << "\"\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\naddress = \"" << containerd << "\"\n";
  containerd_ = spawn({"containerd", "--config", folder_ / "containerd.toml"}, folder_ / "containerd.log");
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(containerd); })) << read_file(folder_ / "containerd.log");
  dockerd_ = spawn({"dockerd", "--data-root", folder_ / "data", "--exec-root", folder_ / "exec", "--host",
                    "unix://" + socket(), "--pidfile", folder_ / "pid", "--containerd", containerd, "--bridge=none",
                    "--iptables=false", "--ip6tables=false"},
                   folder_ / "dockerd.log");
  EXPECT_TRUE(eventually([&] { return answers(socket()); })) << read_file(folder_ / "dockerd.log");
  Result<std::unique_ptr<DockerRunner>> runner = DockerRunner::connect(socket());
  if (!runner) throw std::runtime_error(runner.error().message);
  runner_ = std::move(*runner);
  write_root(folder_ / "root.tar");
  import(folder_ / "root.tar", kBox, {"ENV PATH=/bin", "ENV FROM_IMAGE=yes", "WORKDIR /work"});
  import(folder_ / "root.tar", kGreeter,
         {"ENV PATH=/bin", R"(ENTRYPOINT ["echo","hello"])", R"(CMD ["from","the","image"])"});
}

TestDaemon::~TestDaemon() {
  runner_.reset();
  end(dockerd_);
  end(containerd_);
  unmount_below(folder_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void TestDaemon::import(const std::filesystem::path& archive, const std::string& name,
                        const std::vector<std::string>& changes) {
  const auto [repository, tag] = name_and_tag(name);
  std::string path = concat("/images/create?fromSrc=-&repo=", repository, "&tag=", tag);
  for (const std::string& change : changes) path += "&changes=" + percent_encoded(change);
  DaemonRequest request = daemon().request("POST", path);
  request.headers = {"Content-Type: application/x-tar"};
  request.upload_path = archive;
  Result<boost::json::value> done = daemon().ask_now(std::move(request), "import");
  ASSERT_TRUE(done.has_value()) << done.error().message;
}

std::vector<std::string> TestDaemon::containers() {
  Result<boost::json::value> list = daemon().ask_now(daemon().request("GET", "/containers/json?all=1"), "list");
  std::vector<std::string> ids;
  EXPECT_TRUE(list.has_value());
  for (const boost::json::value& one : list->as_array()) ids.push_back(text_at(one, {"Id"}));
  return ids;
}

std::size_t TestDaemon::volumes() {
  Result<boost::json::value> list = daemon().ask_now(daemon().request("GET", "/volumes"), "list");
  EXPECT_TRUE(list.has_value());
  const boost::json::value* found = value_at(*list, {"Volumes"});
  return found != nullptr && found->is_array() ? found->as_array().size() : 0;
}

DockerTest::DockerTest() {
  TestDaemon::shared();
  std::string name = ::testing::TempDir() + "drover-docker-test.XXXXXX";
  folder_ = ::mkdtemp(name.data());
  ::chmod(folder_.c_str(), 0755);
  plan_.name = kBox;
  setup_.environment = {"BASE=base"};
}

DockerTest::~DockerTest() {
  slot_.reset();
  std::filesystem::remove_all(folder_);
}

Slot& DockerTest::slot() {
  if (!slot_) {
    setup_.container = std::make_shared<const ContainerPlan>(plan_);
    Result<std::unique_ptr<Slot>> opened = runner().open_slot(setup_);
    if (!opened) throw std::runtime_error(opened.error().message);
    slot_ = std::move(*opened);
  }
  return *slot_;
}

Task DockerTest::task(std::vector<std::string> arguments) {
  Task task;
  task.token = {GrantId(1), ItemIndex(next_item_++)};
  if (!arguments.empty()) task.program = arguments.front();
  task.arguments = std::move(arguments);
  return task;
}

SlotEvent DockerTest::next_event_of_any_kind() {
  const auto deadline = std::chrono::steady_clock::now() + kDockerPatience;
  while (seen_.empty()) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("no event within the bound");
    pollfd wait{slot().descriptor(), POLLIN, 0};
    ::poll(&wait, 1, 1000);
    seen_ = slot().events();
  }
  SlotEvent event = std::move(seen_.front());
  seen_.erase(seen_.begin());
  return event;
}

SlotEvent DockerTest::next_event() {
  while (true) {
    SlotEvent event = next_event_of_any_kind();
    const auto* printed = std::get_if<AttemptPrinted>(&event);
    if (printed == nullptr) return event;
    std::string* to = &printed_.notes;
    if (printed->stream == LogStream::out) to = &printed_.out;
    if (printed->stream == LogStream::err) to = &printed_.err;
    *to += printed->bytes;
  }
}

Ended DockerTest::next_end() {
  SlotEvent event = next_event();
  if (const auto* died = std::get_if<SlotDied>(&event)) throw std::runtime_error(died->reason);
  static_cast<AttemptEnded&>(printed_) = std::get<AttemptEnded>(event);
  return std::exchange(printed_, {});
}

Ended DockerTest::run(const Task& task) {
  slot().start(task);
  Ended ended = next_end();
  EXPECT_EQ(ended.token, task.token);
  return ended;
}

void DockerTest::wait_for_output(const std::string& text) {
  while (printed_.out.find(text) == std::string::npos) {
    SlotEvent event = next_event_of_any_kind();
    const auto* printed = std::get_if<AttemptPrinted>(&event);
    if (printed == nullptr) throw std::runtime_error("it ended without printing " + text);
    printed_.out += printed->bytes;
  }
}

}  // namespace drover
