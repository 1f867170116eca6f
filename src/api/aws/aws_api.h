// One of AWS's APIs: the description of its operations, and what is done for each.
//
// To add an operation: describe it in the API's .operations file, and name its handler with on().
#pragma once

#include <boost/json/object.hpp>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "api/aws/access.h"
#include "api/aws/account.h"
#include "api/aws/fault.h"
#include "api/service.h"
#include "base/text.h"
#include "base/url.h"
#include "ports/backend.h"
#include "wire/aws/input.h"
#include "wire/aws/model.h"

namespace drover::aws {

/// A request that has the form of its operation. A handler gets only those that their caller is allowed to send.
struct Call {
  const Operation* operation = nullptr;
  boost::json::object input;  // see wire/aws/input.h
  Asker asker;
  std::string region;
  std::string origin;  // "http://HOST:PORT", as the client reached the server
  Protocol protocol = Protocol::json;
  /// The I/O thread that serves the client: where long answers are made. See HttpReply::resume().
  Resume resume = [](std::move_only_function<void()> work) { work(); };
  /// Calls back once, from any thread, if the client leaves before it is answered. The call must not wait.
  std::function<void(std::function<void()> call)> when_client_leaves = [](const auto&) {};

  bool is_encrypted() const { return origin.starts_with("https:"); }
};

using Outcome = std::expected<boost::json::object, Fault>;

inline std::unexpected<Fault> failed(std::string code, std::string message, int status = 400) {
  return std::unexpected(Fault{std::move(code), std::move(message), status});
}

/// What an operation changes in documents, what it commands after that, and what it answers when all of it is durable.
struct Edit {
  std::vector<SetDocuments::Change> changes;
  boost::json::object output = {};
  std::vector<Command> then = {};  // one after the other; the first that is refused ends it
};
using EditOutcome = std::expected<Edit, Fault>;

class AwsApi : public Service {
 public:
  struct About {
    std::string_view service;  // in the scope of a signature: "batch"
    Protocol protocol = Protocol::json;
    std::string_view bad_input;           // its code for a request that cannot be right
    std::string_view target = {};         // before the operation in X-Amz-Target: "Logs_20140328."
    std::string_view xml_namespace = {};  // of answers in XML
    bool takes_session_tokens = true;     // of GetSessionToken
    bool also_query = false;              // with Protocol::json: older clients, which send no X-Amz-Target, speak Query
    bool waits_for_disks = true;          // its handlers do; else those of a key's requests are called on an I/O thread
    std::uint64_t most_bytes = std::uint64_t{1} << 20;  // of a request's body
    LogRequests log = LogRequests::all;                 // of operations that change something
    JsonStyle json = {};
  };

  using Answered = std::move_only_function<void(Outcome)>;
  using Handle = std::function<void(Call call, Answered answered)>;

  bool owns(const HttpHead& head) const override;
  std::expected<ServiceCall, HttpResponse> resolve(const HttpHead& head) override;
  HttpResponse error(const HttpHead& head, int status, const Error& error) const override;
  HttpResponse refuse(const HttpHead& head, const Refusal& refusal) const override;

 protected:
  AwsApi(Backend& backend, const Account& account, About about, std::string_view operations);
  Backend& backend() const { return backend_; }
  const Account& account() const { return account_; }
  const Access& access() const { return access_; }
  /// The ARNs of what an operation is about, as policies name it.
  virtual std::vector<std::string> resources(const Call& /*call*/) const { return {"*"}; }
  /// The roles that somebody gets by it.
  virtual std::vector<std::string> passed_roles(const Call& /*call*/) const { return {}; }
  /// What policies call it: "batch:SubmitJob".
  virtual std::string action_name(const Call& call) const { return concat(about_.service, ":", call.operation->name); }
  /// The policy of the resource that an operation is about; null if the resource has no policy. Must not
  /// wait.
  virtual std::shared_ptr<const PolicyDocument> resource_policy(const Call& /*call*/) const { return nullptr; }
  /// What of a request with an input that cannot be right.
  virtual Fault bad_input(Protocol protocol, const BadInput& why) const;
  /// Parameters of a Query request that are not among the others, such as those in its path.
  virtual void add_parameters(const HttpHead& /*head*/, QueryPairs& /*pairs*/) const {}
  /// An error of ours, as this service puts it.
  Fault fault(const Error& error) const { return fault_of(about_.protocol, about_.bad_input, error); }

  /// `action`: what a caller must be allowed; nothing: any key will do. The handler is called on a thread that may wait
  /// for disks, unless the service says that it does not; it may answer later, from any thread.
  void on(std::string_view operation, std::optional<Action> action, Handle handle);
  /// Answers at once.
  void on_read(std::string_view operation, std::optional<Action> action, std::function<Outcome(const Call&)> handle);
  /// Changes documents. Called again when one of them has changed since it was read.
  void on_edit(std::string_view operation, std::optional<Action> action,
               std::function<EditOutcome(const Call&)> handle);

 private:
  struct Handler {
    std::optional<Action> action;
    Handle handle;
  };
  struct Found {
    const Operation* operation = nullptr;
    QueryPairs others;  // members in the path and the query
  };
  Result<Found> find_by_path(const HttpHead& head) const;
  Result<Found> find_by_target(const HttpHead& head) const;
  /// Of an operation that is known, its input; else both, from the body.
  void handle(const std::optional<Found>& found, HttpRequest request, HttpReply reply, Asker asker);
  void try_edit(std::function<EditOutcome(const Call&)> handle, std::shared_ptr<Call> call, Answered answered,
                int more_times);
  void command_rest(const std::shared_ptr<Edit>& edit, std::size_t from, const std::shared_ptr<Answered>& answered);
  void run(const Operation& operation, boost::json::object input, const HttpHead& head, HttpReply reply, Asker asker);
  void carry_out(const Handler& handler, Call call, const std::shared_ptr<HttpReply>& reply);
  Protocol protocol_of(const HttpHead& head) const;
  HttpResponse response(Protocol protocol, const Operation& operation, const Outcome& outcome) const;
  HttpResponse answer_fault(Protocol protocol, const Fault& fault) const;

  std::expected<void, Fault> check_access(const Call& call, const Handler& handler) const;

  Backend& backend_;
  const Account& account_;
  const Access access_;
  const About about_;
  const Model model_;
  std::map<std::string, Handler, std::less<>> handlers_;
};

}  // namespace drover::aws
