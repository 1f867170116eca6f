// Amazon Simple Queue Service. A queue is a stream of the core; what SQS has besides is in the stream's text. Nothing
// here waits for disks: queues are looked up in memory, and what messages say comes from api/message_exchange.h.
#pragma once

#include "api/aws/aws_api.h"
#include "api/message_exchange.h"
#include "api/sqs/outgoing_message.h"
#include "api/sqs/queue_attributes.h"

namespace drover::aws {

class SqsApi : public AwsApi {
 public:
  SqsApi(Backend& backend, const Account& account, MessageExchange& messages, std::function<std::int64_t()> now_ms);

 protected:
  std::vector<std::string> resources(const Call& call) const override;
  std::string action_name(const Call& call) const override;
  std::shared_ptr<const PolicyDocument> resource_policy(const Call& call) const override;
  Fault bad_input(Protocol protocol, const BadInput& why) const override;
  void add_parameters(const HttpHead& head, QueryPairs& pairs) const override;

 private:
  using Queue = std::shared_ptr<const Stream>;
  template <class T>
  using Found = std::expected<T, Fault>;

  // sqs.cc
  void serve_queues();
  void serve_messages();
  /// The name in the call's QueueUrl or QueueName; empty: it names no queue here.
  std::string queue_name(const Call& call) const;
  Found<Queue> queue_of(const Call& call) const;
  std::string url_of(const Call& call, std::string_view queue) const;
  Fault fault_for(Protocol protocol, const Error& error) const;
  /// Posts a command that there is nothing to answer for but that it was done.
  void command(const Call& call, Command command, Answered answered);

  // sqs_queues.cc
  void create_queue(const Call& call, Answered answered, int more_times);
  Outcome list_queues(const Call& call) const;
  Outcome list_dead_letter_sources(const Call& call) const;
  Outcome get_url(const Call& call) const;
  void get_attributes(const Call& call, Answered answered);
  void delete_queue(const Call& call, Answered answered);
  void purge_queue(const Call& call, Answered answered);
  QueueNeighbours neighbours() const;

  // sqs_settings.cc
  using Change = std::function<Found<void>(const Call& call, StreamSpec& queue)>;
  /// Called again when the queue has changed since it was read.
  void edit(const Call& call, Change change, Answered answered, int more_times);
  Found<void> set_queue_attributes(const Call& call, StreamSpec& queue) const;
  Found<void> tag(const Call& call, StreamSpec& queue) const;
  Found<void> untag(const Call& call, StreamSpec& queue) const;
  Found<void> add_permission(const Call& call, StreamSpec& queue) const;
  Found<void> remove_permission(const Call& call, StreamSpec& queue) const;
  Outcome list_tags(const Call& call) const;

  // sqs_messages.cc
  Sender sender_of(const Call& call) const;
  void send_one(const Call& call, Answered answered);
  void send_batch(const Call& call, Answered answered);
  void receive(const Call& call, Answered answered);

  // sqs_receipts.cc
  void delete_one(const Call& call, Answered answered);
  void delete_batch(const Call& call, Answered answered);
  void change_one(const Call& call, Answered answered);
  void change_batch(const Call& call, Answered answered);

  MessageExchange& messages_;
  const std::function<std::int64_t()> now_ms_;
};

}  // namespace drover::aws
