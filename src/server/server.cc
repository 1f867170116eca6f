#include "server/server.h"

#include <signal.h>
#include <sys/stat.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include "api/native.h"
#include "base/entropy.h"
#include "base/text.h"
#include "engine/engine.h"
#include "engine/system_clock.h"
#include "keys/certificates.h"
#include "keys/key_ring.h"
#include "net/http_server.h"
#include "server/descriptor_limit.h"
#include "server/key_calls.h"
#include "server/log_followers.h"
#include "server/log_intake.h"
#include "server/measured_store.h"
#include "server/metrics.h"
#include "server/reach.h"
#include "server/read_pool.h"
#include "server/retention.h"
#include "server/router.h"
#include "server/server_backend.h"
#include "server/service_notice.h"
#include "server/worker_calls.h"
#include "store/run_folder.h"
#include "store/sqlite_store.h"

namespace drover {
namespace {

constexpr std::string_view kDefaultAddress = "127.0.0.1:8750";
constexpr std::size_t kReaders = 2;  // of each pool
constexpr std::int64_t kStopGraceMs = 500;
// The first time so long after the start: workers that waited for the server have come back by then.
constexpr std::int64_t kSweepMs = 3'600'000;

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("[::1]") || address.starts_with("localhost:") ||
         address.starts_with("unix:");
}

/// A signal that ends the server, or -1 after so long.
int wait_for_signal(std::int64_t ms) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&wanted, signal);
  const timespec time{ms / 1000, ms % 1000 * 1'000'000};
  return sigtimedwait(&wanted, nullptr, &time);
}

}  // namespace

std::string server_address_file(const std::string& root) {
  return concat(root, "/server/address");
}

std::string server_key_file(const std::string& root) {
  return concat(root, "/server/", kKeyRingFile);
}

// In the order in which they are made; they go in the opposite one: first nobody can ask any more, then what was asked
// is committed and answered, then the store closes.
struct Server::Parts {
  explicit Parts(const ServerOptions& it) : options(it), log(it.log) {}

  const ServerOptions options;
  ServerLog log;
  SystemWallClock wall;
  SystemSteadyClock steady;
  std::unique_ptr<RunFolder> folder;
  std::unique_ptr<KeyRing> keys;
  std::unique_ptr<Store> store;
  std::unique_ptr<StoreReader> reader_of_feed;
  std::unique_ptr<StoreReader> reader_of_retention;
  JobBoard board;
  std::unique_ptr<EventFeed> events;
  std::unique_ptr<Metrics> metrics;
  std::unique_ptr<MeasuredStore> measured;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<ReadPool> readers;
  std::unique_ptr<ReadPool> worker_readers;
  std::unique_ptr<ReadPool> searchers;
  std::unique_ptr<LogFollowers> followers;
  std::unique_ptr<ImageResolver> images;
  std::unique_ptr<ServerBackend> backend;
  std::unique_ptr<LogIntake> logs;
  std::unique_ptr<NativeApi> api;
  std::unique_ptr<WorkerCalls> workers;
  std::unique_ptr<KeyCalls> key_calls;
  std::unique_ptr<Router> router;
  std::unique_ptr<Retention> retention;
  std::unique_ptr<HttpServer> http;
  std::vector<std::string> addresses;
  std::string from_here;  // how clients on this machine reach it

  Result<void> open_store();
  Result<void> make_rooms();
  std::unique_ptr<LogFollowers> make_followers();
  Result<void> listen();
  Result<void> tell_where();
  void sweep_keys();
};

Result<void> Server::Parts::open_store() {
  auto held = RunFolder::hold_server(options.data);
  if (!held) return pass(held);
  folder = std::make_unique<RunFolder>(std::move(*held));
  ::chmod(folder->path().c_str(), 0700);
  auto ring = KeyRing::open(server_key_file(options.data), wall.epoch_ms());
  if (!ring) return pass(ring);
  keys = std::move(*ring);
  auto opened = open_sqlite_store(folder->database(), [this](std::int64_t waited_ms) {
    log.warning(concat("another program has held the ledger's write lock for ", waited_ms / 1000, " s; waiting"));
  });
  if (!opened) return pass(opened);
  store = std::move(*opened);
  return {};
}

Result<void> Server::Parts::make_rooms() {
  for (std::unique_ptr<StoreReader>* reader : {&reader_of_feed, &reader_of_retention}) {
    auto opened = open_sqlite_reader(folder->database());
    if (!opened) return pass(opened);
    *reader = std::move(*opened);
  }
  events = std::make_unique<EventFeed>(
      std::move(reader_of_feed), [this](const std::string& key_id) { return keys->holds(key_id, wall.epoch_ms()); });
  metrics = std::make_unique<Metrics>(
      Metrics::Sources{.board = board, .workers = [this] { return backend->workers(); }, .folder = folder->path()});
  measured = std::make_unique<MeasuredStore>(
      *store, steady, [this](double seconds, const Batch& batch) { metrics->committed(seconds, batch); });
  auto started = Engine::start(*measured, wall, steady, [this](const Effect& effect) {
    board.take(effect);
    if (const auto* happened = std::get_if<Happened>(&effect)) events->happened(happened->last);
    if (const auto* stands = std::get_if<WorkerStands>(&effect)) backend->note_standing(*stands);
  });
  if (!started) return pass(started);
  engine = std::move(*started);
  auto jobs = reader_of_retention->jobs();
  if (!jobs) return pass(jobs);
  board.know(*jobs);
  for (std::unique_ptr<ReadPool>* pool : {&readers, &worker_readers, &searchers}) {
    auto begun = ReadPool::start(folder->database(), kReaders);
    if (!begun) return pass(begun);
    *pool = std::move(*begun);
  }
  const auto now_ms = [this] { return engine->now_ms(); };
  followers = make_followers();
  images = options.make_image_resolver();
  backend = std::make_unique<ServerBackend>(ServerBackend::Parts{.engine = *engine,
                                                                 .store = *store,
                                                                 .readers = {*readers, *worker_readers, *searchers},
                                                                 .board = board,
                                                                 .followers = *followers,
                                                                 .events = *events,
                                                                 .ledger = folder->database(),
                                                                 .logs = folder->logs(),
                                                                 .images = *images},
                                            FreeSpace(folder->path(), options.min_free_bytes));
  backend->post(Tick{}, [](const Result<Effect>&) {});  // what there is to tell of jobs is told
  logs = std::make_unique<LogIntake>(folder->logs(), [this](const std::optional<Error>& trouble) {
    if (!trouble) return log.info("logs can be kept again");
    log.error(concat("logs cannot be kept, and workers wait with their reports: ", trouble->message));
  });
  std::vector<ApiLine> others = KeyCalls::calls();
  others.push_back({"GET", "/api/v1/self", ""});
  api = std::make_unique<NativeApi>(*backend, std::move(others));
  workers = std::make_unique<WorkerCalls>(*backend, *logs, *followers, *metrics, random_number(), options.lease_ms,
                                          WorkerCalls::JobKeys{*keys, options.job_key_life_ms, now_ms});
  auto known = reader_of_retention->workers();
  if (!known) return pass(known);
  backend->know(*known);
  workers->know(*known);
  key_calls = std::make_unique<KeyCalls>(*keys, *backend, now_ms);
  key_calls->on_removed([this](const std::string& id) { workers->on_key_removed(id); });
  retention = std::make_unique<Retention>(
      Retention::Options{.logs = folder->logs(),
                         .keep_ms = options.keep_ms,
                         .started_ms = engine->now_ms(),
                         .quiet_before_ms = engine->quiet_before_ms()},
      wall,
      [this](const ForgetJob& job, std::function<void(const Result<Effect>&)> answered) {
        backend->post(job, std::move(answered));
      },
      *store, std::move(reader_of_retention), log, [this](JobId job) { workers->forget(job); });
  router = std::make_unique<Router>(
      *keys, *api, *workers, *key_calls,
      Router::Figures{*metrics, [this](std::function<void()> work) { backend->later(std::move(work)); }}, log, now_ms,
      options.version);
  return {};
}

std::unique_ptr<LogFollowers> Server::Parts::make_followers() {
  using Known = LogFollowers::Known;
  LogFollowers::Outside outside{
      .watch = [this](Watch watch, auto answered) { engine->post(watch, std::move(answered)); },
      .later = [this](std::function<void()> work) { readers->post(std::move(work)); },
      .look = [this](JobId id, ItemIndex item) -> Result<Known> {
        // The job first: what ended before it did is in the ledger when that is read.
        auto job = ReadPool::reader().job(id);
        if (!job) return pass(job);
        auto attempts = backend->attempts(id, item);
        if (!attempts) return pass(attempts);
        return Known{job->ended(), std::move(*attempts)};
      }};
  return std::make_unique<LogFollowers>(std::move(outside), folder->logs());
}

Result<void> Server::Parts::listen() {
  HttpServerOptions http_options{.listen = options.listen, .tls = std::nullopt, .limits = {}};
  http_options.limits.connections = std::min(http_options.limits.connections, connections_within_descriptors());
  if (http_options.listen.empty()) http_options.listen.emplace_back(kDefaultAddress);
  const bool beyond = !std::ranges::all_of(http_options.listen, is_loopback);
  const Reach reach{.machine = machine_addresses(), .name = machine_name()};
  KeyCalls::Identity identity;
  if (beyond && !options.plain_http) {
    auto authority = Authority::open(folder->path(), wall.epoch_ms());
    if (!authority) return pass(authority);
    const CertificateRequest request{.names = reach.certificate_names(http_options.listen, options.advertise)};
    auto certificate = issue_certificate(*authority, request, wall.epoch_ms());
    if (!certificate) return pass(certificate);
    http_options.tls = TlsIdentity{certificate->pem, certificate->key_pem.reveal()};
    identity.ca_pem = authority->own.pem;
  }
  auto started = HttpServer::start(http_options, *router);
  if (!started) return pass(started);
  http = std::move(*started);
  const std::string_view scheme = http_options.tls ? "https://" : "http://";
  std::vector<std::string> for_others;
  for (const std::string& address : http->addresses()) {
    if (address.starts_with("unix:")) {
      addresses.push_back(address);
      for_others.push_back(address);
      continue;
    }
    addresses.push_back(concat(scheme, address));
    for (const std::string& it : reach.from_elsewhere(address)) for_others.push_back(concat(scheme, it));
  }
  const std::string& first = http->addresses().front();
  from_here = first.starts_with("unix:") ? first : concat(scheme, Reach::from_here(first));
  const std::string port = first.substr(first.rfind(':') + 1);
  for (const std::string& name : options.advertise) {
    identity.addresses.push_back(concat(scheme, name, name.contains(':') ? "" : ":" + port));
  }
  if (identity.addresses.empty()) identity.addresses = std::move(for_others);
  key_calls->set_identity(std::move(identity));
  return {};
}

// For clients on this machine and of this user.
Result<void> Server::Parts::tell_where() {
  const std::string path = server_address_file(options.data);
  std::ofstream file(path, std::ios::trunc);
  file << from_here << "\n";
  file.close();
  if (!file) return std::unexpected(errno_error(errno, path));
  return {};
}

void Server::Parts::sweep_keys() {
  auto gone = keys->sweep(engine->now_ms());
  if (!gone) return log.warning(concat("could not clear out old keys: ", gone.error().message));
  for (const std::string& id : *gone) log.info(concat("removed the key ", id, ": its worker is long gone"));
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options) {
  auto parts = std::make_unique<Parts>(options);
  if (auto done = parts->open_store(); !done) return pass(done);
  if (auto done = parts->make_rooms(); !done) return pass(done);
  if (auto done = parts->listen(); !done) return pass(done);
  if (auto done = parts->tell_where(); !done) return pass(done);
  parts->router->set_ready(true);
  for (const std::string& address : parts->addresses) parts->log.info(concat("listening on ", address));
  notify_service_manager("READY=1");
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

Server::~Server() {
  if (!parts_) return;
  if (parts_->router) parts_->router->set_ready(false);
  // Parked polls are answered by the engine's end; whoever still waits then is cut off.
  parts_->http.reset();
  if (parts_->images) parts_->images->stop();  // who still asks is told so
  parts_->searchers.reset();
  parts_->worker_readers.reset();
  if (parts_->followers) parts_->followers->stop();
  parts_->readers.reset();
  parts_->logs.reset();
  parts_->engine.reset();
  if (parts_->events) parts_->events->stop();
}

const std::vector<std::string>& Server::addresses() const {
  return parts_->addresses;
}

Result<void> Server::run() {
  constexpr std::int64_t kLookMs = 500;
  constexpr std::int64_t kSoonMs = 20;
  bool more_to_clear = false;
  std::int64_t sweep_ms = parts_->engine->now_ms() + kSweepMs;
  while (true) {
    const int signal = wait_for_signal(more_to_clear ? kSoonMs : kLookMs);
    if (auto failed = parts_->engine->failure()) {
      parts_->log.error(concat("the store failed: ", failed->message));
      return std::unexpected(*failed);
    }
    if (parts_->engine->now_ms() >= sweep_ms) {
      parts_->sweep_keys();
      sweep_ms += kSweepMs;
    }
    if (signal < 0) {
      more_to_clear = parts_->retention->step(parts_->engine->now_ms());
      continue;
    }
    parts_->log.info(concat("stopping on signal ", signal));
    notify_service_manager("STOPPING=1");
    parts_->router->set_ready(false);
    parts_->http->stop(kStopGraceMs);
    return {};
  }
}

}  // namespace drover
