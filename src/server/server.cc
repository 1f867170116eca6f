#include "server/server.h"

#include <sys/stat.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "api/aws/no_service.h"
#include "api/batch/batch.h"
#include "api/ec2/ec2.h"
#include "api/health/health.h"
#include "api/iam/iam.h"
#include "api/keys/key_calls.h"
#include "api/logs/logs.h"
#include "api/message_exchange.h"
#include "api/metrics/metrics_page.h"
#include "api/native/native.h"
#include "api/s3/s3_api.h"
#include "api/s3/s3_events.h"
#include "api/sqs/sqs.h"
#include "api/sts/sts.h"
#include "api/worker/worker_calls.h"
#include "base/text.h"
#include "engine/engine.h"
#include "engine/system_clock.h"
#include "keys/certificates.h"
#include "keys/key_ring.h"
#include "keys/private_file.h"
#include "net/http_server.h"
#include "ports/entropy.h"
#include "server/descriptor_limit.h"
#include "server/end_signals.h"
#include "server/identify.h"
#include "server/log_followers.h"
#include "server/log_intake.h"
#include "server/lost_ledger.h"
#include "server/measured_store.h"
#include "server/metrics.h"
#include "server/own_fleets.h"
#include "server/own_objects.h"
#include "server/reach.h"
#include "server/read_pool.h"
#include "server/retention.h"
#include "server/router.h"
#include "server/server_backend.h"
#include "server/service_notice.h"
#include "server/thread_counts.h"
#include "server/worker_desk.h"
#include "store/ledger_file.h"
#include "store/run_folder.h"
#include "store/sqlite_store.h"

namespace drover {
namespace {

constexpr std::int64_t kStopGraceMs = 500;
// The first time so long after the start: workers that waited for the server have come back by then.
constexpr std::int64_t kSweepMs = 3'600'000;

}  // namespace

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
  aws::SigningKeyCache signing_keys;
  const aws::Account aws_account;
  std::unique_ptr<Store> store;
  LedgerFile ledger_file;
  std::unique_ptr<StoreReader> reader_of_feed;
  std::unique_ptr<StoreReader> reader_of_retention;
  JobBoard board;
  std::mutex forgotten_mutex;       // guards what follows
  std::vector<WorkerId> forgotten;  // by the core; whoever else knows them has not heard of it yet
  std::unique_ptr<EventFeed> events;
  std::unique_ptr<Metrics> metrics;
  std::unique_ptr<MeasuredStore> measured;
  std::unique_ptr<OwnFleets> fleets;  // hears what the engine says; its threads end before the engine does
  std::unique_ptr<Engine> engine;
  std::unique_ptr<OwnObjects> objects;  // outlives the threads that may still hold what comes into it
  std::unique_ptr<ReadPool> readers;
  std::unique_ptr<ReadPool> worker_readers;
  std::unique_ptr<ReadPool> searchers;
  std::unique_ptr<LogFollowers> followers;
  std::unique_ptr<ImageResolver> images;
  std::unique_ptr<ServerBackend> backend;
  std::unique_ptr<LogIntake> logs;
  std::unique_ptr<WorkerDesk> worker_desk;
  std::unique_ptr<MessageExchange> messages;
  std::vector<std::unique_ptr<Service>> services;
  Health* health = nullptr;
  WorkerCalls* workers = nullptr;
  KeyCalls* key_calls = nullptr;
  std::unique_ptr<Router> router;
  std::unique_ptr<Retention> retention;
  std::unique_ptr<HttpServer> http;
  std::vector<std::string> addresses;
  std::string from_here;  // how clients on this machine reach it
  OwnFleets::Reach reach_of_machines;

  /// A start may fail when some of them are at work already.
  ~Parts() {
    http.reset();
    if (fleets) fleets->stop();
    objects.reset();
  }
  Result<void> open_store();
  Result<void> make_modules();
  void make_services();
  template <typename Kind, typename... Arguments>
  Kind* serve(Arguments&&... arguments) {
    auto service = std::make_unique<Kind>(std::forward<Arguments>(arguments)...);
    Kind* const it = service.get();
    services.push_back(std::move(service));
    return it;
  }
  std::unique_ptr<LogFollowers> make_followers();
  Result<void> listen();
  Result<void> tell_where();
  void sweep_keys();
  void drop_forgotten();
};

Result<void> Server::Parts::open_store() {
  auto held = RunFolder::hold_server(options.data);
  if (!held) return pass(held);
  folder = std::make_unique<RunFolder>(std::move(*held));
  ::chmod(folder->path().c_str(), 0700);
  if (auto there = check_for_lost_ledger(folder->path()); !there) return pass(there);
  // Before the keys: they are what tells a folder that has lost its ledger from one that is new.
  auto opened = open_sqlite_store(folder->database(), [this](std::int64_t waited_ms) {
    log.warning(concat("another program has held the ledger's write lock for ", waited_ms / 1000, " s; waiting"));
  });
  if (!opened) return pass(opened);
  store = std::move(*opened);
  ledger_file = LedgerFile::at(folder->database());
  auto ring = KeyRing::open(server_key_file(options.data), wall.epoch_ms());
  if (!ring) return pass(ring);
  keys = std::move(*ring);
  return {};
}

Result<void> Server::Parts::make_modules() {
  for (std::unique_ptr<StoreReader>* reader : {&reader_of_feed, &reader_of_retention}) {
    auto opened = open_sqlite_reader(folder->database());
    if (!opened) return pass(opened);
    *reader = std::move(*opened);
  }
  events = std::make_unique<EventFeed>(
      std::move(reader_of_feed), [this](const std::string& key_id) { return keys->holds(key_id, wall.epoch_ms()); });
  metrics = std::make_unique<Metrics>(
      Metrics::Sources{.board = board,
                       .workers = [this] { return backend->workers(); },
                       .streams = [this](std::uint64_t most) { return backend->streams(most); },
                       .fleets = []() -> Result<Metrics::FleetBills> {
                         auto all = ReadPool::reader().fleets();
                         if (!all) return pass(all);
                         auto machines = ReadPool::reader().machines();
                         if (!machines) return pass(machines);
                         return Metrics::FleetBills{std::move(*all), std::move(*machines)};
                       },
                       .now_ms = [this] { return engine->now_ms(); },
                       .dropped_log_entries = [this] { return log.dropped(); },
                       .folder = folder->path()});
  measured = std::make_unique<MeasuredStore>(
      *store, steady, [this](double seconds, const Batch& batch) { metrics->committed(seconds, batch); });
  fleets = std::make_unique<OwnFleets>(
      OwnFleets::Parts{.ask = [this](Command command) { return engine->ask(std::move(command)); },
                       .now_ms = [this] { return engine->now_ms(); },
                       .keys = *keys,
                       .log = log,
                       .steady = steady,
                       .folder = folder->machines(),
                       .data = options.data,
                       .here = options.here,
                       .commands = options.fleet_commands,
                       .ends_with_server = options.has_local_fleet,
                       .prices = options.prices});
  auto started = Engine::start(
      *measured, wall, steady,
      [this](const Effect& effect) {
        board.take(effect);
        if (const auto* happened = std::get_if<Happened>(&effect)) events->happened(happened->last);
        if (const auto* stands = std::get_if<WorkerStands>(&effect)) backend->note_standing(*stands);
        fleets->hear(effect);
        if (const auto* gone = std::get_if<WorkerForgotten>(&effect)) {
          const std::scoped_lock lock(forgotten_mutex);
          forgotten.push_back(gone->worker);
        }
      },
      [path = folder->database()] { return open_sqlite_reader(path); });
  if (!started) return pass(started);
  engine = std::move(*started);
  auto jobs = reader_of_retention->jobs();
  if (!jobs) return pass(jobs);
  board.know(*jobs);
  for (const auto& [pool, size] :
       {std::pair(&readers, kReadersForPeople), std::pair(&worker_readers, kReadersForWorkers),
        std::pair(&searchers, kReadersForSearches)}) {
    auto begun = ReadPool::start(folder->database(), size);
    if (!begun) return pass(begun);
    *pool = std::move(*begun);
  }
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
                                                                 .images = *images,
                                                                 .fleets = *fleets},
                                            FreeSpace(folder->path(), options.min_free_bytes, "running jobs"));
  backend->post(Tick{}, [](const Result<Effect>&) {});  // what there is to tell of jobs is told
  logs = std::make_unique<LogIntake>(
      folder->logs(), FreeSpace(folder->path(), options.min_free_bytes / 2, "the ledger"),
      [this](const std::optional<Error>& trouble) {
        if (!trouble) return log.info("logs can be stored again");
        log.error(concat("logs cannot be stored; workers delay their reports: ", trouble->message));
      });
  auto opened = OwnObjects::open(
      folder->objects(), [this] { return engine->now_ms(); },
      FreeSpace(folder->path(), options.min_free_bytes, "running jobs"));
  if (!opened) return pass(opened);
  objects = std::move(*opened);
  make_services();
  auto known = reader_of_retention->workers();
  if (!known) return pass(known);
  backend->know(*known);
  workers->know(*known);
  auto streams = reader_of_retention->streams();
  if (!streams) return pass(streams);
  backend->know(*streams);
  objects->bring_events(*messages, {.message = [this](const auto& it) { return aws::event_message(it, aws_account); },
                                    .notice = [this](const std::string& text) { log.warning(text); }});
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
  return {};
}

namespace {

aws::ManagedMachines managed_machines(const ServerOptions& options) {
  aws::ManagedMachines out;
  if (options.batch_machines == "local") {
    out.most_milli_cpus = options.here.milli_cpus;
  } else if (options.batch_machines == "none") {
    out.provider = "none";
  } else {
    out.provider = "command";
    out.command = options.batch_machines;
  }
  return out;
}

}  // namespace

// The first service that owns a request gets it.
void Server::Parts::make_services() {
  const auto now_ms = [this] { return engine->now_ms(); };
  worker_desk = std::make_unique<WorkerDesk>(WorkerDesk::Parts{
      .backend = *backend, .readers = *worker_readers, .logs = *logs, .followers = *followers, .metrics = *metrics});
  messages = std::make_unique<MessageExchange>(*backend);
  // Each request is offered to them in this order: those that are asked most come first.
  serve<aws::SqsApi>(*backend, aws_account, *messages, now_ms);
  serve<aws::StsApi>(*backend, aws_account, *keys, now_ms);
  serve<aws::BatchApi>(*backend, aws_account, managed_machines(options), now_ms);
  serve<aws::LogsApi>(*backend, aws_account, now_ms);
  serve<aws::Ec2Api>(*backend, aws_account, now_ms);
  serve<aws::IamApi>(*backend, aws_account, now_ms);
  serve<aws::S3Api>(*backend, aws_account, objects->buckets());
  serve<aws::NoService>();
  health = serve<Health>();
  serve<MetricsPage>(*backend, [this] { return metrics->text(); });
  workers = serve<WorkerCalls>(*worker_desk, steady, random_number(), options.lease_ms,
                               WorkerCalls::JobKeys{*keys, options.job_key_life_ms, now_ms});
  key_calls = serve<KeyCalls>(*keys, *backend, now_ms);
  key_calls->on_removed([this](const std::string& id) {
    workers->on_key_removed(id);
    followers->on_key_removed();
  });
  serve<NativeApi>(*backend, *messages,
                   NativeApi::About{.version = options.version, .now_ms = now_ms, .others = KeyCalls::calls()});
  router = std::make_unique<Router>(services, identify_by_key(*keys, signing_keys, now_ms), *metrics, log,
                                    Turns{.begin = [this] { engine->hold(); }, .end = [this] { engine->release(); }});
}

std::unique_ptr<LogFollowers> Server::Parts::make_followers() {
  using Known = LogFollowers::Known;
  LogFollowers::Outside outside{
      .watch = [this](Watch watch, auto answered) { engine->post(watch, std::move(answered)); },
      .later = [this](const Holder& holder, std::function<void()> work) { readers->post(holder, std::move(work)); },
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
  http_options.io_threads = io_threads();
  http_options.pool_threads = kDiskThreads;
  http_options.limits.connections = std::min(http_options.limits.connections, connections_within_descriptors());
  if (http_options.listen.empty()) http_options.listen.emplace_back(kDefaultAddress);
  const std::string own_socket = concat("unix:", server_socket_file(options.data));
  if (std::ranges::find(http_options.listen, own_socket) == http_options.listen.end()) {
    http_options.listen.push_back(own_socket);
  }
  const bool beyond = !std::ranges::all_of(http_options.listen, is_local_address);
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
      if (address != own_socket) for_others.push_back(address);
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
  reach_of_machines = {.from_here = from_here, .from_elsewhere = identity.addresses, .ca_pem = identity.ca_pem};
  key_calls->set_identity(std::move(identity));
  return {};
}

// For clients on this machine and of this user.
Result<void> Server::Parts::tell_where() {
  return replace_file(server_address_file(options.data), concat(from_here, "\n"), Readers::everyone);
}

void Server::Parts::sweep_keys() {
  auto gone = keys->sweep(engine->now_ms());
  if (!gone) return log.warning(concat("could not delete old keys: ", gone.error().message));
  for (const std::string& id : *gone)
    log.info(concat("removed the key ", id, ": its worker has been gone for a long time"));
}

void Server::Parts::drop_forgotten() {
  std::vector<WorkerId> gone;
  {
    const std::scoped_lock lock(forgotten_mutex);
    gone.swap(forgotten);
  }
  for (const WorkerId worker : gone) {
    backend->forget(worker);
    workers->forget(worker);
  }
  const std::vector<JobId> removed = backend->take_removed();
  for (const JobId job : removed) workers->forget(job);
  if (!removed.empty()) retention->jobs_removed();
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options) {
  auto parts = std::make_unique<Parts>(options);
  if (auto done = parts->open_store(); !done) return pass(done);
  if (auto done = parts->make_modules(); !done) return pass(done);
  if (auto done = parts->listen(); !done) return pass(done);
  if (auto done = parts->fleets->start(parts->reach_of_machines); !done) return pass(done);
  parts->health->set_ready(true);
  for (const std::string& address : parts->addresses) parts->log.info(concat("listening on ", address));
  if (auto done = parts->tell_where(); !done) return pass(done);
  notify_service_manager("READY=1");
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

Server::~Server() {
  if (!parts_) return;
  if (parts_->health != nullptr) parts_->health->set_ready(false);
  // Parked polls are answered by the engine's end; whoever still waits then is cut off.
  parts_->http.reset();
  if (parts_->images) parts_->images->stop();  // who still asks is told so
  if (parts_->backend) parts_->backend->stop_searches();
  parts_->searchers.reset();
  parts_->worker_readers.reset();
  if (parts_->followers) parts_->followers->stop();
  parts_->readers.reset();
  if (parts_->fleets) parts_->fleets->stop();  // it asks the engine
  parts_->objects.reset();                     // they ask the engine for the time
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
  bool draining = false;
  while (true) {
    const int signal = wait_for_signal(more_to_clear || draining ? kSoonMs : kLookMs);
    auto failed = parts_->engine->failure();
    // A commit finds out too. A server that has nothing to commit should not wait for one.
    if (auto there = parts_->ledger_file.check(); !failed && !there) failed = there.error();
    if (failed) {
      parts_->log.error(concat("the store failed: ", failed->message));
      return std::unexpected(*failed);
    }
    parts_->drop_forgotten();
    if (parts_->engine->now_ms() >= sweep_ms) {
      parts_->sweep_keys();
      sweep_ms += kSweepMs;
    }
    const bool is_drained = draining && parts_->fleets->is_drained();
    if (signal < 0 && !is_drained) {
      more_to_clear = parts_->retention->step(parts_->engine->now_ms());
      continue;
    }
    if (!is_drained && parts_->fleets->postpones_stop()) {
      draining = true;
      continue;
    }
    parts_->log.info(is_drained ? "stopping: all machines have drained" : concat("stopping on signal ", signal));
    notify_service_manager("STOPPING=1");
    parts_->health->set_ready(false);
    parts_->backend->stop_searches();
    parts_->http->stop(kStopGraceMs);
    return {};
  }
}

}  // namespace drover
