#include "api/logs/stream_name.h"

#include <limits>

#include "base/text.h"
#include "base/units.h"

namespace drover::aws {

std::string stream_stem(const Job& job) {
  const std::string definition = job.named_definition.empty()
                                     ? std::string(kNativeDefinition)
                                     : job.named_definition.substr(0, job.named_definition.rfind(':'));
  return concat(definition, "/default/", job.uuid.text());
}

std::string log_stream(const Job& job, ItemIndex item, std::uint64_t attempt) {
  std::string out = stream_stem(job);
  if (job.total > 1 || attempt > 1) out += concat(".", item.value);
  if (attempt > 1) out += concat(".", attempt);
  return out;
}

std::optional<TaskName> parse_log_stream(std::string_view name) {
  std::string_view rest = name.substr(name.rfind('/') + 1);
  const auto next = [&]() -> std::string_view {
    const std::string_view part = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    return part;
  };
  const auto uuid = Uuid::parse(next());
  if (!uuid) return std::nullopt;
  TaskName out{uuid->text(), ItemIndex{0}};
  if (!rest.empty()) {
    const auto item = parse_number(next());
    if (!item) return std::nullopt;
    out.item = ItemIndex{*item};
  }
  if (!rest.empty()) {
    const auto attempt = parse_number(rest);
    if (!attempt || *attempt == 0 || *attempt > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    out.attempt = AttemptNumber{static_cast<std::uint32_t>(*attempt)};
  }
  return out;
}

std::optional<Uuid> job_in_prefix(std::string_view prefix) {
  constexpr std::size_t kUuidLength = 36;
  const std::size_t slash = prefix.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return Uuid::parse(prefix.substr(slash + 1, kUuidLength));
}

}  // namespace drover::aws
