// Bytes that claim to be HTTP: however they are cut, they are read alike.
#include "fuzzed.h"
#include "net/request_parser.h"

namespace drover {
namespace {

constexpr std::size_t kHeadBytes = 4096;
constexpr std::uint64_t kBodyBytes = 65536;

/// Everything that a server would hear of these bytes. That no more can come of them may be seen sooner or later: a
/// line that is not all there is judged when its end has come.
std::string heard(std::string_view bytes, std::size_t cut) {
  std::string all;
  std::string unread;
  auto parser = std::make_unique<RequestParser>(kHeadBytes);
  while (!bytes.empty()) {
    const std::size_t size = std::min(cut == 0 ? bytes.size() : cut, bytes.size());
    unread += bytes.substr(0, size);
    bytes.remove_prefix(size);
    for (bool more = false; !more && !unread.empty();) {
      const RequestParser::Step step = parser->feed(unread);
      DROVER_CHECK(step.used <= unread.size(), "no more is used than there was");
      unread.erase(0, step.used);
      switch (step.event) {
        case RequestParser::Event::more: more = true; break;
        case RequestParser::Event::broken:
          DROVER_CHECK(parser->refusal() >= 400 && parser->refusal() < 600, "a refusal has a status");
          return all;
        case RequestParser::Event::head: {
          const HttpHead& head = parser->head();
          std::size_t head_size = head.path.size() + head.query.size();
          for (const HttpHeader& field : head.headers) head_size += field.name.size() + field.value.size();
          DROVER_CHECK(head_size <= kHeadBytes, "a head keeps to its limit");
          all += head.method + " " + head.path + "?" + head.query;
          for (const HttpHeader& field : head.headers) all += "|" + field.name + ":" + field.value;
          if (parser->stated_length() > kBodyBytes) return all + "|too long";
          parser->limit_body(kBodyBytes);
          if (parser->awaits_body()) break;
          [[fallthrough]];
        }
        case RequestParser::Event::whole:
          DROVER_CHECK(parser->body().size() <= kBodyBytes, "a body keeps to its limit");
          all += "|body " + parser->body() + "\n";
          parser = std::make_unique<RequestParser>(kHeadBytes);
          break;
      }
    }
  }
  return all;
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  Choices choices(bytes);
  const std::size_t cut = 1 + choices.below(64);
  const std::string at_once = heard(choices.rest(), 0);
  const std::string in_pieces = heard(choices.rest(), cut);
  DROVER_CHECK(at_once == in_pieces, "it does not matter how bytes arrive");
}

}  // namespace drover
