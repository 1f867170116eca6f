// What was received is deleted, or hidden for longer or shorter.
#include <boost/json/array.hpp>

#include "api/sqs/batch_request.h"
#include "api/sqs/receipt_handle.h"
#include "api/sqs/sqs.h"
#include "api/sqs/sqs_fault.h"

namespace drover::aws {

namespace json = boost::json;

namespace {

std::string_view handle_in(const json::object& entry) {
  return entry.at("ReceiptHandle").get_string();
}

std::expected<Receipt, Fault> receipt_in(const json::object& entry) {
  if (const auto receipt = parse_receipt_handle(handle_in(entry))) return *receipt;
  return refused(SqsError::bad_receipt,
                 concat("The input receipt handle \"", utf8(handle_in(entry)), "\" is not a valid receipt handle."));
}

std::expected<SetVisibility::One, Fault> visibility_in(const json::object& entry) {
  auto receipt = receipt_in(entry);
  if (!receipt) return std::unexpected(std::move(receipt.error()));
  const json::value* seconds = entry.if_contains("VisibilityTimeout");
  if (seconds == nullptr) return missing("VisibilityTimeout");
  constexpr std::int64_t kMost = kLongestVisibilityMs / 1000;
  if (seconds->get_int64() < 0 || seconds->get_int64() > kMost) {
    return bad_value("VisibilityTimeout", seconds->get_int64(), concat("Must be between 0 and ", kMost, "."));
  }
  return SetVisibility::One{*receipt, seconds->get_int64() * 1000};
}

/// Why it was not done.
std::expected<void, Fault> outcome_of(ReceiptOutcome outcome, const json::object& entry) {
  switch (outcome) {
    case ReceiptOutcome::done: return {};
    case ReceiptOutcome::foreign:
      return refused(SqsError::bad_receipt,
                     concat("The input receipt handle \"", handle_in(entry), "\" is not valid for this queue."));
    case ReceiptOutcome::expired:
      return bad_value("ReceiptHandle", handle_in(entry), "The receipt handle has expired.");
    case ReceiptOutcome::gone:
      return bad_value("ReceiptHandle", handle_in(entry),
                       "Message does not exist or is not available for visibility timeout change.");
    case ReceiptOutcome::not_in_flight:
      return refused(SqsError::not_in_flight, "The message referred to is not in flight.");
    case ReceiptOutcome::too_long:
      return bad_value("VisibilityTimeout", entry.at("VisibilityTimeout").get_int64(),
                       concat("Total VisibilityTimeout for the message is beyond the limit [",
                              kLongestVisibilityMs / 1000, " seconds]"));
  }
  return {};
}

/// The entries of a batch that can be carried out, and what became of the others.
template <class T>
struct Batch {
  BatchOutcome outcome;
  std::vector<json::object> entries;
  std::vector<T> good;

  json::object finish(const std::vector<ReceiptOutcome>& outcomes) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (auto done = outcome_of(outcomes.at(i), entries[i]); !done) {
        outcome.fail(entries[i], done.error());
      } else {
        outcome.succeed({{"Id", entries[i].at("Id")}});
      }
    }
    return std::move(outcome).output();
  }
};

template <class T>
std::expected<std::shared_ptr<Batch<T>>, Fault> batch_of(const Call& call,
                                                         std::expected<T, Fault> (*read)(const json::object&)) {
  auto entries = batch_entries(call);
  if (!entries) return std::unexpected(std::move(entries.error()));
  auto batch = std::make_shared<Batch<T>>();
  for (const json::value& it : *entries) {
    auto one = read(it.get_object());
    if (!one) {
      batch->outcome.fail(it.get_object(), one.error());
      continue;
    }
    batch->good.push_back(std::move(*one));
    batch->entries.push_back(it.get_object());
  }
  return batch;
}

}  // namespace

void SqsApi::delete_one(const Call& call, Answered answered) {
  auto queue = queue_of(call);
  if (!queue) return answered(std::unexpected(std::move(queue.error())));
  auto receipt = receipt_in(call.input);
  if (!receipt) return answered(std::unexpected(std::move(receipt.error())));
  backend().post(
      DeleteMessages{(*queue)->name, {*receipt}},
      resumed(call.resume, [this, entry = call.input, receipt = *receipt, protocol = call.protocol,
                            later = std::make_shared<Answered>(std::move(answered))](const Result<Effect>& effect) {
        if (!effect) return (*later)(std::unexpected(fault_for(protocol, effect.error())));
        const auto& outcomes = std::get<MessagesDeleted>(*effect).outcomes;
        messages_.forget_deleted({receipt}, outcomes);
        auto done = outcome_of(outcomes.at(0), entry);
        if (!done) return (*later)(std::unexpected(std::move(done.error())));
        (*later)(json::object());
      }));
}

void SqsApi::delete_batch(const Call& call, Answered answered) {
  auto queue = queue_of(call);
  if (!queue) return answered(std::unexpected(std::move(queue.error())));
  auto batch = batch_of<Receipt>(call, receipt_in);
  if (!batch) return answered(std::unexpected(std::move(batch.error())));
  if ((*batch)->good.empty()) return answered((*batch)->finish({}));
  backend().post(
      DeleteMessages{(*queue)->name, (*batch)->good},
      resumed(call.resume, [this, batch = *batch, protocol = call.protocol,
                            later = std::make_shared<Answered>(std::move(answered))](const Result<Effect>& effect) {
        if (!effect) return (*later)(std::unexpected(fault_for(protocol, effect.error())));
        const auto& outcomes = std::get<MessagesDeleted>(*effect).outcomes;
        messages_.forget_deleted(batch->good, outcomes);
        (*later)(batch->finish(outcomes));
      }));
}

void SqsApi::change_one(const Call& call, Answered answered) {
  auto queue = queue_of(call);
  if (!queue) return answered(std::unexpected(std::move(queue.error())));
  auto change = visibility_in(call.input);
  if (!change) return answered(std::unexpected(std::move(change.error())));
  backend().post(
      SetVisibility{(*queue)->name, {*change}},
      resumed(call.resume, [this, entry = call.input, protocol = call.protocol,
                            later = std::make_shared<Answered>(std::move(answered))](const Result<Effect>& effect) {
        if (!effect) return (*later)(std::unexpected(fault_for(protocol, effect.error())));
        auto done = outcome_of(std::get<VisibilitySet>(*effect).outcomes.at(0), entry);
        if (!done) return (*later)(std::unexpected(std::move(done.error())));
        (*later)(json::object());
      }));
}

void SqsApi::change_batch(const Call& call, Answered answered) {
  auto queue = queue_of(call);
  if (!queue) return answered(std::unexpected(std::move(queue.error())));
  auto batch = batch_of<SetVisibility::One>(call, visibility_in);
  if (!batch) return answered(std::unexpected(std::move(batch.error())));
  if ((*batch)->good.empty()) return answered((*batch)->finish({}));
  backend().post(
      SetVisibility{(*queue)->name, (*batch)->good},
      resumed(call.resume, [this, batch = *batch, protocol = call.protocol,
                            later = std::make_shared<Answered>(std::move(answered))](const Result<Effect>& effect) {
        if (!effect) return (*later)(std::unexpected(fault_for(protocol, effect.error())));
        (*later)(batch->finish(std::get<VisibilitySet>(*effect).outcomes));
      }));
}

}  // namespace drover::aws
