// Queues are created, listed, looked at and deleted.
#include <algorithm>
#include <boost/json/array.hpp>

#include "api/sqs/plain_name.h"
#include "api/sqs/sqs.h"
#include "api/sqs/sqs_fault.h"
#include "wire/base64.h"

namespace drover::aws {

namespace json = boost::json;

namespace {

constexpr std::size_t kMostListed = 1000;
constexpr std::int64_t kPurgeEveryMs = 60'000;
constexpr std::string_view kFifoSuffix = ".fifo";

std::expected<void, Fault> check_name(std::string_view name, bool is_fifo) {
  std::string_view plain = name;
  if (is_fifo && name.ends_with(kFifoSuffix)) plain.remove_suffix(kFifoSuffix.size());
  const bool is_good =
      is_plain_name(plain) && name.size() <= kLongestPlainName && name.ends_with(kFifoSuffix) == is_fifo;
  if (is_good) return {};
  return refused(SqsError::bad_parameter,
                 is_fifo
                     ? "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, "
                       "must end with .fifo suffix and be 1 to 80 in length."
                     : "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length");
}

/// The queues after the one that the token names, at most as many as asked for.
std::expected<json::object, Fault> page_of_urls(const json::object& input, std::string_view member,
                                                const std::vector<std::string>& names,
                                                const std::function<std::string(std::string_view)>& url_of) {
  std::string after;
  if (const json::value* token = input.if_contains("NextToken")) {
    const auto name = from_base64(token->get_string());
    if (!name) return bad_value("NextToken", std::string_view(token->get_string()), "Invalid or expired token.");
    after = *name;
  }
  const json::value* most = input.if_contains("MaxResults");
  if (most != nullptr && (most->get_int64() < 1 || most->get_int64() > static_cast<std::int64_t>(kMostListed))) {
    return bad_value("MaxResults", most->get_int64(), concat("Must be between 1 and ", kMostListed, ", if provided."));
  }
  const std::size_t count = most == nullptr ? kMostListed : static_cast<std::size_t>(most->get_int64());
  auto at = std::ranges::upper_bound(names, after);
  json::array urls;
  for (; at != names.end() && urls.size() < count; ++at) urls.emplace_back(url_of(*at));
  json::object out;
  if (at != names.end() && most != nullptr) out["NextToken"] = base64(*std::prev(at));
  out[member] = std::move(urls);
  return out;
}

}  // namespace

QueueNeighbours SqsApi::neighbours() const {
  return {account(), [this](const std::string& name) { return backend().find_stream(name); }};
}

// The same queue with the same attributes again is the same queue. Those that are not given are not compared.
void SqsApi::create_queue(const Call& call, Answered answered, int more_times) {
  const auto refuse = [&](Fault fault) { answered(std::unexpected(std::move(fault))); };
  const std::string name(call.input.at("QueueName").get_string());
  const json::value* attributes = call.input.if_contains("Attributes");
  const json::object given = attributes == nullptr ? json::object() : attributes->get_object();
  if (const Queue existing = backend().find_stream(name)) {
    auto differing = differing_attribute(given, neighbours(), *existing);
    if (!differing) return refuse(std::move(differing.error()));
    if (differing->empty()) return answered(json::object{{"QueueUrl", url_of(call, name)}});
    return refuse(sqs_fault(
        SqsError::queue_exists,
        concat("A queue already exists with the same name and a different value for attribute ", *differing)));
  }
  SetStream command{.spec = {}, .version = 0};
  StreamSpec& spec = command.spec;
  spec.name = name;
  spec.owner = call.asker.owner();
  if (auto good = check_name(name, given.contains("FifoQueue")); !good) return refuse(std::move(good.error()));
  if (auto set = set_attributes(given, QueueAge::is_new, neighbours(), spec); !set) {
    return refuse(std::move(set.error()));
  }
  if (const json::value* tags = call.input.if_contains("tags")) {
    if (auto added = add_tags(tags->get_object(), spec); !added) return refuse(std::move(added.error()));
  }
  auto later = std::make_shared<Answered>(std::move(answered));
  backend().post(std::move(command), [this, call, name, later, more_times](const Result<Effect>& effect) {
    if (effect) return (*later)(json::object{{"QueueUrl", url_of(call, name)}});
    if (effect.error().code != ErrorCode::conflict || more_times == 0) {
      return (*later)(std::unexpected(fault_for(call.protocol, effect.error())));
    }
    create_queue(call, std::move(*later), more_times - 1);
  });
}

Outcome SqsApi::list_queues(const Call& call) const {
  const json::value* prefix = call.input.if_contains("QueueNamePrefix");
  std::vector<std::string> names;
  for (const Queue& it : backend().list_streams(prefix == nullptr ? "" : std::string(prefix->get_string()))) {
    names.push_back(it->name);
  }
  auto page = page_of_urls(call.input, "QueueUrls", names, [&](std::string_view name) { return url_of(call, name); });
  // Clients expect no list rather than an empty one.
  if (page && page->at("QueueUrls").get_array().empty()) page->erase("QueueUrls");
  return page;
}

Outcome SqsApi::list_dead_letter_sources(const Call& call) const {
  auto queue = queue_of(call);
  if (!queue) return std::unexpected(std::move(queue.error()));
  std::vector<std::string> names;
  for (const Queue& it : backend().list_streams("")) {
    if (it->max_receives > 0 && it->dead_letters == (*queue)->name) names.push_back(it->name);
  }
  return page_of_urls(call.input, "queueUrls", names, [&](std::string_view name) { return url_of(call, name); });
}

Outcome SqsApi::get_url(const Call& call) const {
  auto queue = queue_of(call);
  if (!queue) return std::unexpected(std::move(queue.error()));
  return json::object{{"QueueUrl", url_of(call, (*queue)->name)}};
}

void SqsApi::get_attributes(const Call& call, Answered answered) {
  auto queue = queue_of(call);
  if (!queue) return answered(std::unexpected(std::move(queue.error())));
  const json::value* names = call.input.if_contains("AttributeNames");
  std::vector<std::string> wanted;
  for (const json::value& it : names == nullptr ? json::array() : names->get_array()) {
    wanted.emplace_back(it.get_string());
    if (!is_queue_attribute(wanted.back())) {
      return answered(refused(SqsError::bad_attribute_name, concat("Unknown Attribute ", utf8(wanted.back()), ".")));
    }
  }
  const auto chosen = [this, region = call.region, wanted](const StreamView& view) {
    json::object all = attributes_of(view, account(), region);
    if (std::ranges::find(wanted, "All") != wanted.end()) return json::object{{"Attributes", std::move(all)}};
    json::object some;
    for (const std::string& name : wanted) {
      if (json::value* it = all.if_contains(name)) some[name] = std::move(*it);
    }
    return some.empty() ? json::object() : json::object{{"Attributes", std::move(some)}};
  };
  if (std::ranges::none_of(wanted, is_count)) return answered(chosen({.stream = **queue}));
  backend().post(AskStreams{.stream = (*queue)->name},
                 [this, chosen, protocol = call.protocol,
                  later = std::make_shared<Answered>(std::move(answered))](const Result<Effect>& effect) {
                   if (!effect) return (*later)(std::unexpected(fault_for(protocol, effect.error())));
                   (*later)(chosen(std::get<StreamsNow>(*effect).streams.at(0)));
                 });
}

void SqsApi::delete_queue(const Call& call, Answered answered) {
  auto queue = queue_of(call);
  if (!queue) return answered(std::unexpected(std::move(queue.error())));
  command(call, DropStream{(*queue)->name}, std::move(answered));
}

void SqsApi::purge_queue(const Call& call, Answered answered) {
  auto queue = queue_of(call);
  if (!queue) return answered(std::unexpected(std::move(queue.error())));
  const std::string name = (*queue)->name;
  backend().post(
      AskStreams{.stream = name},
      [this, call, name, later = std::make_shared<Answered>(std::move(answered))](const Result<Effect>& effect) {
        if (!effect) return (*later)(std::unexpected(fault_for(call.protocol, effect.error())));
        const Stream& stream = std::get<StreamsNow>(*effect).streams.at(0).stream;
        if (stream.purged_ms > 0 && now_ms_() < stream.purged_ms + kPurgeEveryMs) {
          return (*later)(refused(SqsError::purge_in_progress,
                                  concat("Only one PurgeQueue operation on ", name, " is allowed every 60 seconds.")));
        }
        command(call, PurgeStream{name}, std::move(*later));
      });
}

}  // namespace drover::aws
