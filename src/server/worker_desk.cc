#include "server/worker_desk.h"

#include <algorithm>

#include "base/text.h"
#include "logs/extents.h"
#include "store/manifest.h"
#include "wire/message_content.h"

namespace drover {
namespace {

Error bad_extents() {
  return {ErrorCode::bad_input, "the worker refers to log positions that cannot exist",
          "use the same version for worker and server"};
}

/// A list of extents that lie where a segment could have them: far from where sums overflow.
bool are_extents(const Bytes& said) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;
  constexpr std::uint64_t kMostSegments = std::uint64_t{1} << 60;
  const ExtentList list = ExtentList::decode(said.value);
  return list.encode() == said && std::ranges::all_of(list.all(), [](const Extent& it) {
           return it.size > 0 && it.size <= kMostBytes && it.offset <= kMostBytes && it.segment <= kMostSegments;
         });
}

}  // namespace

Result<void> WorkerDesk::check_logs(const Report& report) {
  if (std::ranges::all_of(report.ended, are_extents, [](const EndedAttempt& it) { return it.log.extents; })) return {};
  return std::unexpected(bad_extents());
}

void WorkerDesk::keep_logs(ReportFrames frames, std::shared_ptr<Report> report,
                           std::function<void(Result<void>)> kept) {
  const auto fill = [this, report = std::move(report),
                     ended_frames = std::move(frames.ended_frames)](const std::vector<Extent>& places) {
    for (std::size_t i = 0; i < report->ended.size(); ++i) {
      Bytes& extents = report->ended[i].log.extents;
      if (ended_frames[i].empty() && extents.value.empty()) continue;
      // What is not in this server's logs, such as after it was restored from a backup, is left out.
      ExtentList list = parts_.logs.held_of(ExtentList::decode(extents.value));
      for (const std::uint32_t frame : ended_frames[i]) list.add(places[frame]);
      extents = list.encode();
    }
  };
  if (frames.frames.empty()) {
    return later([fill, kept = std::move(kept)] {
      fill({});
      kept({});
    });
  }
  parts_.logs.add(std::move(frames.frames), [fill, kept = std::move(kept)](const Result<std::vector<Extent>>& places) {
    if (!places) return kept(std::unexpected(places.error()));
    fill(*places);
    kept({});
  });
}

void WorkerDesk::show_logs(WorkerUpload upload, std::function<void(Result<std::vector<Bytes>>)> kept) {
  if (!std::ranges::all_of(upload.shown, are_extents, &WorkerUpload::Shown::extents)) {
    return kept(std::unexpected(bad_extents()));
  }
  parts_.logs.add(std::move(upload.frames), [this, worker = upload.worker, all_shown = std::move(upload.shown),
                                             kept = std::move(kept)](const Result<std::vector<Extent>>& places) {
    if (!places) return kept(std::unexpected(places.error()));
    for (const WorkerUpload::Shown& shown : all_shown) {
      ExtentList list = parts_.logs.held_of(ExtentList::decode(shown.extents.value));
      for (const std::uint32_t frame : shown.frames) list.add((*places)[frame]);
      parts_.followers.on_shown(worker, shown.token, list);
    }
    std::vector<Bytes> out;
    for (const Extent& place : *places) {
      ExtentList list;
      list.add(place);
      out.push_back(list.encode());
    }
    kept(std::move(out));
  });
}

Result<std::vector<std::string>> WorkerDesk::item_texts(ManifestId manifest, const ManifestInfo& info, ItemIndex first,
                                                        std::uint64_t count, std::size_t most_bytes) {
  ManifestReader reader(ReadPool::reader(), manifest, info, parts_.backend.manifest_chunks());
  std::vector<std::string> out;
  std::size_t size = 0;
  for (std::uint64_t i = 0; i < count && size <= most_bytes; ++i) {
    auto text = reader.item(ItemIndex{first.value + i});
    if (!text && !out.empty()) break;  // the error is reported when this item is asked for
    if (!text) return pass(text);
    size += text->size();
    out.push_back(std::move(*text));
  }
  return out;
}

Result<std::vector<std::string>> WorkerDesk::message_texts(const Job& job, ItemIndex first, std::uint64_t count,
                                                           std::size_t most_bytes) {
  std::vector<std::string> out;
  std::size_t size = 0;
  Result<void> decoded;
  const auto take = [&](ItemIndex item, const std::string& content) {
    if (item.value != first.value + out.size()) return false;
    auto message = decode_message(content);
    if (!message) {
      decoded = pass(message);
      return false;
    }
    size += message->body.size();
    out.push_back(std::move(message->body));
    return size <= most_bytes;
  };
  auto read = ReadPool::reader().each_item_message(job.id, {first, ItemIndex{first.value + count - 1}}, take);
  if (!read) return pass(read);
  if (!out.empty()) return out;
  if (!decoded) return pass(decoded);
  return fail(ErrorCode::damaged, concat("the message that is item ", first.value, " of job ", job.name,
                                         " is no longer in stream '", job.stream, "': it has expired or was purged"));
}

}  // namespace drover
