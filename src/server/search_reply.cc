#include "server/search_reply.h"

#include <boost/json.hpp>
#include <chrono>
#include <thread>

#include "api/problem.h"
#include "base/utf8.h"
#include "logs/log_search.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
constexpr std::size_t kMostUnsent = std::size_t{1} << 20;
constexpr std::chrono::milliseconds kPeerWait{5};
// Read from the ledger at once: a reader that stays for long keeps its log from being cut short.
constexpr std::size_t kAttemptsAtOnce = 4096;

/// Lines on their way to the peer.
class Lines {
 public:
  explicit Lines(std::shared_ptr<HttpStream> stream) : stream_(std::move(stream)) {}

  bool add(const json::object& line) {
    piece_ += json::serialize(line);
    piece_ += '\n';
    return piece_.size() < kPieceBytes || flush();
  }

  /// False: the peer is gone.
  bool flush() {
    if (!stream_->write(std::exchange(piece_, {}))) return false;
    while (stream_->unsent() > kMostUnsent) {
      std::this_thread::sleep_for(kPeerWait);
      if (!peer_is_there()) return false;
    }
    return true;
  }

  bool peer_is_there() { return stream_->write({}); }

 private:
  std::shared_ptr<HttpStream> stream_;
  std::string piece_;
};

/// Some attempts that printed something, in order, and the item that the next ones begin with.
struct Targets {
  std::vector<SearchTarget> some;
  std::optional<ItemIndex> next;  // nothing: that was all
};

Result<Targets> targets_from(StoreReader& reader, const SearchQuestion& question, ItemIndex from) {
  Targets out;
  std::size_t seen = 0;
  ItemIndex last = from;
  auto read = reader.each_attempt(question.job, from, [&](const Attempt& it) {
    if (seen >= kAttemptsAtOnce && it.item != last) {
      out.next = it.item;
      return false;
    }
    ++seen;
    last = it.item;
    const bool is_wanted = !question.only_failed || it.state == AttemptState::failed;
    if (is_wanted && !it.log.extents.value.empty()) {
      out.some.push_back({{it.job, it.item, it.attempt}, ExtentList::decode(it.log.extents.value), it.log.bytes});
    }
    return true;
  });
  if (!read) return pass(read);
  return out;
}

/// Hands everything over, until the search or the peer has enough.
Result<void> search_all(StoreReader& reader, const SearchQuestion& question, LogSearch& search, Lines& lines) {
  for (std::optional<ItemIndex> from = ItemIndex{0}; from;) {
    auto targets = targets_from(reader, question, *from);
    if (!targets) return pass(targets);
    for (SearchTarget& target : targets->some) {
      if (!lines.peer_is_there() || !search.add(std::move(target))) return {};
    }
    from = targets->next;
  }
  return {};
}

}  // namespace

void answer_search(StoreReader& reader, const std::string& logs, const SearchQuestion& question, HttpReply reply) {
  std::uint64_t left = question.limit;
  std::optional<Lines> lines;
  auto search = LogSearch::start(logs, {.pattern = question.pattern, .ignore_case = question.ignore_case},
                                 [&](const SearchHit& hit) {
                                   if (left == 0) return false;
                                   --left;
                                   return lines->add({{"item", hit.key.item.value},
                                                      {"attempt", hit.key.attempt.value},
                                                      {"line", hit.line},
                                                      {"stream", to_string(hit.stream)},
                                                      {"time_ms", hit.time_ms},
                                                      {"text", utf8(hit.text)}});
                                 });
  if (!search) return reply.send(problem(search.error()));
  const std::shared_ptr<HttpStream> stream =
      reply.stream({.status = 200, .headers = {{"Content-Type", "application/x-ndjson"}}, .body = {}});
  lines.emplace(stream);

  const auto read = search_all(reader, question, **search, *lines);
  const auto found = (*search)->finish();
  // It has begun to answer: what went wrong can only be its last line.
  const auto tell = [&](const Error& error) { lines->add({{"problem", error.message}, {"next", error.next}}); };
  if (!read) tell(read.error());
  if (!found) tell(found.error());
  lines->flush();
  stream->end();
}

}  // namespace drover
