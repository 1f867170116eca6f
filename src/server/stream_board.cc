#include "server/stream_board.h"

namespace drover {

void StreamBoard::know(const std::vector<Stream>& streams) {
  const std::scoped_lock lock(mutex_);
  for (const Stream& it : streams) streams_.try_emplace(it.name, std::make_shared<const Stream>(it));
}

void StreamBoard::take(const Effect& effect, const std::string& stream) {
  const std::scoped_lock lock(mutex_);
  if (const auto* set = std::get_if<StreamSet>(&effect)) {
    streams_[stream] = std::make_shared<const Stream>(set->stream);
  } else if (std::holds_alternative<StreamDropped>(effect)) {
    streams_.erase(stream);
  }
}

std::shared_ptr<const Stream> StreamBoard::find(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = streams_.find(name);
  return found == streams_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<const Stream>> StreamBoard::list(const std::string& prefix) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<const Stream>> out;
  for (auto it = streams_.lower_bound(prefix); it != streams_.end() && it->first.starts_with(prefix); ++it) {
    out.push_back(it->second);
  }
  return out;
}

std::string changed_stream(const Command& command) {
  if (const auto* set = std::get_if<SetStream>(&command)) return set->spec.name;
  if (const auto* drop = std::get_if<DropStream>(&command)) return drop->stream;
  return {};
}

}  // namespace drover
