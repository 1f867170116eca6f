// The errors of SQS, each by both of its names: newer clients know the one, older ones the other.
#pragma once

#include <array>
#include <expected>
#include <string>
#include <string_view>

#include "api/aws/fault.h"
#include "base/text.h"
#include "base/utf8.h"

namespace drover::aws {

enum class SqsError : std::uint8_t {
  no_such_queue,
  queue_exists,
  purge_in_progress,
  over_limit,
  bad_parameter,
  missing_parameter,
  bad_attribute_name,
  bad_attribute_value,
  bad_contents,
  bad_receipt,
  not_in_flight,
  unsupported,
  empty_batch,
  too_many_entries,
  ids_not_distinct,
  bad_entry_id,
  batch_too_long,
};

inline Fault sqs_fault(SqsError error, std::string message) {
  struct Names {
    std::string_view json;
    std::string_view query;
    int status = 400;
  };
  static constexpr std::array<Names, 17> kNames{{
      {"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"},
      {"QueueNameExists", "QueueAlreadyExists"},
      {"PurgeQueueInProgress", "AWS.SimpleQueueService.PurgeQueueInProgress", 403},
      {"OverLimit", "OverLimit", 403},
      {"InvalidParameterValueException", "InvalidParameterValue"},
      {"MissingRequiredParameterException", "MissingParameter"},
      {"InvalidAttributeName", "InvalidAttributeName"},
      {"InvalidAttributeValue", "InvalidAttributeValue"},
      {"InvalidMessageContents", "InvalidMessageContents"},
      {"ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid"},
      {"MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight"},
      {"UnsupportedOperation", "AWS.SimpleQueueService.UnsupportedOperation"},
      {"EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest"},
      {"TooManyEntriesInBatchRequest", "AWS.SimpleQueueService.TooManyEntriesInBatchRequest"},
      {"BatchEntryIdsNotDistinct", "AWS.SimpleQueueService.BatchEntryIdsNotDistinct"},
      {"InvalidBatchEntryId", "AWS.SimpleQueueService.InvalidBatchEntryId"},
      {"BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong"},
  }};
  const Names& names = kNames.at(static_cast<std::size_t>(error));
  return {std::string(names.json), std::move(message), names.status, std::string(names.query)};
}

inline std::unexpected<Fault> refused(SqsError error, std::string message) {
  return std::unexpected(sqs_fault(error, std::move(message)));
}

/// "Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided."
template <class T>
std::unexpected<Fault> bad_value(std::string_view parameter, const T& value, std::string_view reason) {
  return refused(SqsError::bad_parameter,
                 concat("Value ", utf8(concat(value)), " for parameter ", parameter, " is invalid. Reason: ", reason));
}

inline std::unexpected<Fault> missing(std::string_view parameter) {
  return refused(SqsError::missing_parameter, concat("The request must contain the parameter ", parameter, "."));
}

}  // namespace drover::aws
