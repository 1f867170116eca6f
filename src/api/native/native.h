// The native API at /api/v1: JSON in, JSON out, errors as problems. One table says what there is; a request becomes a
// command or a question to the backend, and its answer a response.
#pragma once

#include <boost/json/object.hpp>
#include <expected>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/job_submitter.h"
#include "api/message_exchange.h"
#include "api/service.h"
#include "base/url.h"
#include "core/planner/snapshot.h"
#include "ports/backend.h"
#include "ports/http.h"

namespace drover {

struct Node;
struct Submission;

/// What one answer lists at most.
inline constexpr std::uint64_t kMostListed = 10'000;

/// A call that there is, for those who ask.
struct ApiLine {
  std::string method;
  std::string path;        // "/api/v1/jobs/*": a star stands for one segment
  std::string parameters;  // of the query, with a space between them
};

class NativeApi : public Service {
 public:
  /// What the server says of itself.
  struct About {
    std::string version;
    std::function<std::int64_t()> now_ms;
    std::vector<ApiLine> others = {};  // calls below /api/v1/ of other services; listed with the rest
  };
  NativeApi(Backend& backend, MessageExchange& messages, About about)
      : backend_(backend), messages_(messages), about_(std::move(about)) {}

  bool owns(const HttpHead& head) const override { return head.path.starts_with("/api/v1/"); }
  std::expected<ServiceCall, HttpResponse> resolve(const HttpHead& head) override;

 private:
  struct Asked {
    HttpRequest request;
    std::vector<std::string> parts;  // what stands for the placeholders of the path
    QueryPairs query;
    Asker asker;

    const std::string* parameter(std::string_view name) const;
    Result<std::uint64_t> number(std::string_view name, std::uint64_t usual, std::uint64_t least,
                                 std::uint64_t most) const;
    Result<bool> flag(std::string_view name) const;
    /// One of the words, or the first of them if nothing is said.
    Result<std::string> choice(std::string_view name, std::initializer_list<std::string_view> words) const;
  };
  using Handler = void (NativeApi::*)(Asked asked, HttpReply reply);
  struct Route {
    std::string_view method;
    std::string_view path;         // below /api/v1/; "*" stands for one segment
    std::optional<Action> action;  // that a caller must be allowed; nothing: any key will do
    bool about_a_job;              // the first segment that varies is one
    Handler handler;
    std::string_view parameters = {};  // of the query, with a space between them; others are refused
  };
  struct Found {
    const Route* route = nullptr;
    std::vector<std::string> parts;
  };

  static const std::vector<Route>& routes();
  static std::expected<Found, HttpResponse> find(const HttpHead& head);
  static Result<void> check_parameters(const Route& route, const QueryPairs& query);
  void handle(const Route& route, Asked asked, HttpReply reply);

  // native_index.cc
  void list_calls(Asked asked, HttpReply reply);
  void list_errors(Asked asked, HttpReply reply);
  void show_description(Asked asked, HttpReply reply);
  void show_self(Asked asked, HttpReply reply);

  // native_jobs.cc
  void upload_manifest(Asked asked, HttpReply reply);
  void submit(Asked asked, HttpReply reply);
  void list_jobs(Asked asked, HttpReply reply);
  void show_job(Asked asked, HttpReply reply);
  void remove_job(Asked asked, HttpReply reply);
  void cancel(Asked asked, HttpReply reply);
  void retry(Asked asked, HttpReply reply);
  void say_why(Asked asked, HttpReply reply);
  void ask_why(const AskWhy& question, const Holder& holder, std::function<void(const Result<Why>&)> answered);
  static Result<Node> own_document(const std::string& body);
  Result<Submission> submission_of(const std::string& body);

  // native_items.cc
  void list_items(Asked asked, HttpReply reply);
  boost::json::array idle_gpus(const JobView& view);
  void list_largest(const Job& job, AttemptOrder order, std::uint64_t from, std::uint64_t limit, HttpReply reply);
  void list_failures(Asked asked, HttpReply reply);
  void show_item(Asked asked, HttpReply reply);
  void show_log(Asked asked, HttpReply reply);
  void send_stored_log(const LogQuestion& question, const std::vector<Attempt>& attempts, HttpReply reply);
  void send_running_log(const LogQuestion& question, HttpReply reply);
  void search_logs(Asked asked, HttpReply reply);

  // native_workers.cc
  void list_workers(Asked asked, HttpReply reply);
  void show_worker(Asked asked, HttpReply reply);
  void readmit_worker(Asked asked, HttpReply reply);
  void drain_worker(Asked asked, HttpReply reply);
  void fence_worker(Asked asked, HttpReply reply);
  void send_away(const std::string& name, Command command, HttpReply reply);

  // native_registry.cc
  void answer_done(Command command, boost::json::object said, HttpReply reply);
  Result<std::vector<Queue>> queues();
  void list_queues(Asked asked, HttpReply reply);
  void show_queue(Asked asked, HttpReply reply);
  void set_queue(Asked asked, HttpReply reply);
  void drop_queue(Asked asked, HttpReply reply);
  Result<NamedDefinition> find_definition(const std::string& reference);
  void list_definitions(Asked asked, HttpReply reply);
  void show_definition(Asked asked, HttpReply reply);
  void add_definition(Asked asked, HttpReply reply);
  void retire_definition(Asked asked, HttpReply reply);

  // native_fleets.cc
  void list_fleets(Asked asked, HttpReply reply);
  void show_fleet(Asked asked, HttpReply reply);
  void set_fleet(Asked asked, HttpReply reply);
  void drop_fleet(Asked asked, HttpReply reply);
  void pause_fleet(Asked asked, HttpReply reply);
  void resume_fleet(Asked asked, HttpReply reply);
  void explain_fleet(Asked asked, HttpReply reply);

  // native_streams.cc
  void list_streams(Asked asked, HttpReply reply);
  void show_stream(Asked asked, HttpReply reply);
  void set_stream(Asked asked, HttpReply reply);
  void drop_stream(Asked asked, HttpReply reply);
  void purge_stream(Asked asked, HttpReply reply);
  void answer_with_stream(const std::string& name, HttpReply reply);
  struct StreamChange;
  void change_stream(const std::shared_ptr<StreamChange>& change);

  // native_messages.cc
  void send_messages(Asked asked, HttpReply reply);
  void receive_messages(Asked asked, HttpReply reply);
  void delete_messages(Asked asked, HttpReply reply);
  void set_visibility(Asked asked, HttpReply reply);
  void give_back(const std::string& stream, const std::vector<DeliveredMessage>& messages);

  // native_ledger.cc
  void list_events(Asked asked, HttpReply reply);
  void show_usage(Asked asked, HttpReply reply);
  void ask_sql(Asked asked, HttpReply reply);

  Result<Job> job_of(const std::string& reference);

  Backend& backend_;
  MessageExchange& messages_;
  const About about_;
  JobSubmitter submitter_{backend_};
};

}  // namespace drover
