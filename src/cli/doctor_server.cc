#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <ctime>
#include <filesystem>

#include "base/units.h"
#include "build_info.h"
#include "cli/doctor_check.h"
#include "engine/system_clock.h"
#include "net/server_probe.h"
#include "server/server.h"
#include "store/run_folder.h"
#include "wire/problem_json.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::int64_t kStepMs = 2'000;  // for each step of the way
constexpr std::int64_t kSlowUs = 200'000;
constexpr std::int64_t kClocksApartMs = 5'000;
constexpr std::int64_t kDayMs = std::int64_t{24} * 3'600'000;
constexpr int kJobsLookedAt = 5;

class ServerDoctor {
 public:
  explicit ServerDoctor(ServerAccess access) : access_(std::move(access)) {}

  std::vector<Check> check() {
    if (!reach() || !open()) return std::move(checks_);
    if (ask_self()) {
      if (may("read")) look_at_work();
    }
    return std::move(checks_);
  }

 private:
  void ok(std::string_view about, std::string text) {
    checks_.push_back({about, CheckVerdict::ok, std::move(text), ""});
  }
  void warn(std::string_view about, std::string text, std::string next) {
    checks_.push_back({about, CheckVerdict::warning, std::move(text), std::move(next)});
  }
  bool fail(std::string_view about, std::string text, std::string next) {
    checks_.push_back({about, CheckVerdict::problem, std::move(text), std::move(next)});
    return false;
  }

  /// Name, TCP and TLS.
  bool reach() {
    if (access_.address.starts_with("unix:")) {
      ok("server", access_.address);
      return true;
    }
    const auto place = parse_place(access_.address);
    if (!place) {
      return fail("server", fmt::format("'{}' is not a valid server address", access_.address),
                  "write it as http://HOST:PORT or https://HOST:PORT");
    }
    ok("server", access_.socket.empty()
                     ? access_.address
                     : fmt::format("{}, through {} on this machine", access_.address, access_.socket));
    auto addresses = resolve_host(place->host, kStepMs);
    if (!addresses) {
      return fail("name", addresses.error().message, "check the spelling, /etc/hosts and the DNS resolver");
    }
    ok("name", fmt::format("{} resolves to {}", place->host, fmt::join(*addresses, ", ")));
    auto connected = probe_tcp(*addresses, place->port, kStepMs);
    if (!connected) {
      return fail(
          "connection", connected.error().message,
          "check that 'drover server' is running there, listens on that address, and no firewall blocks the port");
    }
    ok("connection", fmt::format("port {} responded in {}", place->port, format_duration_us(*connected)));
    return !place->encrypted || tls(*place, *addresses);
  }

  bool tls(const ServerPlace& place, const std::vector<std::string>& addresses) {
    auto seen = probe_tls(place, addresses, access_.ca_pem, kStepMs);
    if (!seen) return fail("TLS", seen.error().message, "if the server uses plain HTTP, use an address with http://");
    const std::string trusted = access_.ca_pem ? access_.ca_file : "the system's trusted certificates";
    if (!seen->trouble.empty()) {
      return fail("TLS",
                  fmt::format("the certificate issued by '{}' is not valid: {} (checked against {})", seen->issuer,
                              seen->trouble, trusted),
                  "copy the server's ca.pem and set $DROVER_CA to its path; the address must be one that the "
                  "server was given with --advertise");
    }
    const std::int64_t left_ms = seen->ends_ms - SystemWallClock().epoch_ms();
    const std::string text = fmt::format("verified against {}, valid until {:%Y-%m-%d}", trusted,
                                         fmt::gmtime(static_cast<std::time_t>(seen->ends_ms / 1000)));
    if (left_ms < 14 * kDayMs) {
      warn("TLS", text, "restart the server: it creates a new certificate at each start");
    } else {
      ok("TLS", text);
    }
    return true;
  }

  bool open() {
    ClientOptions options = access_.client_options();
    options.connect_timeout_ms = kStepMs;
    auto client = make_http_client(options);
    if (!client) return fail("server", client.error().message, client.error().next);
    client_ = std::move(*client);
    return true;
  }

  Result<HttpResponse> get(const std::string& path) {
    return client_->call(
        {.path = path, .headers = {}, .body = {}, .body_source = {}, .take = {}, .deadline_ms = kStepMs});
  }

  static json::value parsed(const HttpResponse& response) {
    json::error_code error;
    json::value value = json::parse(response.body, error);
    return error ? json::value(nullptr) : value;
  }

  /// The key, both versions, both clocks, and how far away the server is.
  bool ask_self() {
    using Clock = std::chrono::steady_clock;
    Result<HttpResponse> response = get("/healthz");  // so that the connection is there when the time is taken
    if (!response) return fail("HTTP", response.error().message, "check that the address belongs to a Drover server");
    const auto begun = Clock::now();
    response = get("/api/v1/self");
    const auto took_us = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begun).count();
    if (!response) return fail("HTTP", response.error().message, "check that the address belongs to a Drover server");
    compare_clocks(*response, took_us);
    if (took_us > kSlowUs) {
      warn("latency", fmt::format("{} per request", format_duration_us(took_us)),
           "slow for a local network; workers are hardly affected, but commands will be slow");
    } else {
      ok("latency", fmt::format("{} per request", format_duration_us(took_us)));
    }
    if (response->status == 401 || response->status == 403) {
      const Error error = error_from_problem(response->status, response->body);
      return fail("key", fmt::format("refused: {}", error.message),
                  "set $DROVER_KEY to a valid key; create one with 'drover key create' on the server's machine");
    }
    const json::value self = parsed(*response);
    if (response->status != 200 || !is_self(self)) {
      return fail(
          "HTTP",
          fmt::format("the response (status {}) is not from a Drover server, or the server is older than this drover",
                      response->status),
          "check the address, and upgrade the server to this version");
    }
    tell_self(self.get_object());
    return true;
  }

  /// As GET /api/v1/self answers.
  static bool is_self(const json::value& answer) {
    if (!answer.is_object() || text_in(answer.get_object(), "version").empty()) return false;
    const json::value* key = answer.get_object().if_contains("key");
    return key != nullptr && key->is_object() && key->get_object().contains("may");
  }

  void tell_self(const json::object& self) {
    const std::string version(text_in(self, "version"));
    if (version == DROVER_VERSION) {
      ok("version", fmt::format("{} on server and client", version));
    } else {
      warn("version", fmt::format("the server is {}, this client is {}", version, DROVER_VERSION),
           "upgrade the server first, then its workers and clients");
    }
    const json::object& key = self.at("key").get_object();
    for (const json::value& it : list_in(self.at("key"), "may")) {
      if (it.is_string()) may_.emplace_back(it.get_string());
    }
    ok("key", fmt::format("{}, scope '{}': may {}", text_in(key, "id"), text_in(key, "scope"),
                          may_.empty() ? "read its own job" : fmt::format("{}", fmt::join(may_, ", "))));
  }

  void compare_clocks(const HttpResponse& response, std::int64_t took_us) {
    const std::string* date = response.header("Date");
    std::tm parts{};
    if (date == nullptr || ::strptime(date->c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts) == nullptr) return;
    // It was cut to whole seconds, half of the way ago.
    const std::int64_t theirs_ms = std::int64_t{timegm(&parts)} * 1000 + 500 + took_us / 2000;
    const std::int64_t apart_ms = SystemWallClock().epoch_ms() - theirs_ms;
    if (std::abs(apart_ms) < kClocksApartMs) {
      ok("clocks", "agree within a few seconds");
      return;
    }
    fail("clocks",
         fmt::format("this machine is {} {} the server", format_duration_us(std::abs(apart_ms) * 1000),
                     apart_ms > 0 ? "ahead of" : "behind"),
         "synchronise both with chrony or systemd-timesyncd; key and certificate expiry depends on them");
  }

  bool may(std::string_view what) const { return std::ranges::find(may_, what) != may_.end(); }

  static std::string_view text_in(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
  }

  static const json::array& list_in(const json::value& answer, std::string_view name) {
    static const json::array none;
    const json::value* list = answer.is_object() ? answer.get_object().if_contains(name) : nullptr;
    return list != nullptr && list->is_array() ? list->get_array() : none;
  }

  /// Who works there, and whether something waits for a worker that does not exist.
  void look_at_work() {
    auto workers = get("/api/v1/workers");
    if (!workers || workers->status != 200) return;
    const json::value answer = parsed(*workers);
    const auto is_there = [](const json::value& it) {
      const json::value* state = it.is_object() ? it.get_object().if_contains("state") : nullptr;
      return state != nullptr && state->is_string() && state->get_string() == "alive";
    };
    const auto count = static_cast<std::size_t>(std::ranges::count_if(list_in(answer, "workers"), is_there));
    if (count == 0) {
      warn("workers", "none: jobs will wait",
           "start one with 'drover worker'; on another machine it needs a token from 'drover key join'");
    } else {
      ok("workers", plural(count, "worker"));
    }
    auto jobs = get(fmt::format("/api/v1/jobs?state=running&limit={}", kJobsLookedAt));
    if (!jobs || jobs->status != 200) return;
    const json::value listed = parsed(*jobs);
    for (const json::value& job : list_in(listed, "jobs")) {
      if (!job.is_object()) continue;
      const std::string id(text_in(job.get_object(), "id"));
      auto shown = get(fmt::format("/api/v1/jobs/{}/why", url_escape(id)));
      if (!shown || shown->status != 200) continue;
      const json::value why = parsed(*shown);
      // Whatever else keeps a job goes by itself.
      if (!why.is_object() || text_in(why.get_object(), "code") != "nobody_suits" || count == 0) continue;
      warn("jobs", fmt::format("'{}' {}", text_in(why.get_object(), "name"), text_in(why.get_object(), "reason")),
           "start a suitable worker, or submit the job again with lower requirements");
    }
  }

  const ServerAccess access_;
  std::unique_ptr<HttpClient> client_;
  std::vector<std::string> may_;
  std::vector<Check> checks_;
};

}  // namespace

std::vector<Check> check_server(const CommonFlags& common, const ServerFlags& flags) {
  const std::string root = data_root(common.data);
  std::error_code error;
  if (!names_server(flags)) {
    if (!std::filesystem::exists(server_address_file(root), error)) return {};
    if (!RunFolder::server_holder(root)) {
      return {{"server", CheckVerdict::warning,
               fmt::format("a server has used the data in {}, but is not running", root),
               fmt::format("start it: drover server --data {}", root)}};
    }
  }
  auto access = find_server(common, flags);
  if (!access) return {{"server", CheckVerdict::problem, access.error().message, access.error().next}};
  return ServerDoctor(std::move(*access)).check();
}

}  // namespace drover
