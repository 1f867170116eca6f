#include "worker/spool_index.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "wire/worker_protocol.h"

namespace drover {
namespace {

// A record: the length of its body, a checksum of it, the body.
constexpr std::size_t kHeader = 16;
constexpr std::uint64_t kLargestRecord = std::uint64_t{64} << 20;
// A file that holds at least so much, and more useless than useful bytes, is rewritten.
constexpr std::uint64_t kRewriteBytes = std::uint64_t{1} << 20;

enum class What : std::uint8_t { ended = 1, told = 2 };

void append_fixed(std::string& out, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(number >> shift & 0xff));
}

std::uint64_t read_fixed(std::string_view in) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i) number |= std::uint64_t{static_cast<unsigned char>(in[i])} << (8 * i);
  return number;
}

std::uint64_t checksum(std::string_view body) {
  Hasher hasher;
  hasher.add(body);
  return hasher.value();
}

std::string as_record(std::string_view body) {
  std::string out;
  out.reserve(kHeader + body.size());
  append_fixed(out, body.size());
  append_fixed(out, checksum(body));
  return out.append(body);
}

void append_bytes(std::string& out, std::string_view bytes) {
  append_varint(out, bytes.size());
  out += bytes;
}

/// Takes the fields of a record from its front; once something is missing, it has failed.
class Fields {
 public:
  explicit Fields(std::string_view rest) : rest_(rest) {}

  std::uint64_t number() {
    const auto number = take_varint(rest_);
    if (!number) failed_ = true;
    return number.value_or(0);
  }
  std::string_view bytes() {
    const std::uint64_t size = number();
    if (size > rest_.size()) failed_ = true;
    if (failed_) return {};
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  bool empty() const { return rest_.empty() || failed_; }
  bool failed() const { return failed_; }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

std::string encode_ended(WorkerId worker, std::uint64_t incarnation, const SpooledAttempt& it) {
  WorkerReport report;
  report.report.worker = worker;
  report.report.incarnation = incarnation;
  report.report.ended.push_back(it.ended);
  report.ended_frames.resize(1);
  std::string body;
  append_varint(body, static_cast<std::uint64_t>(What::ended));
  append_bytes(body, encode(report));
  for (const std::uint64_t number : {it.key.job.value, it.key.item.value, std::uint64_t{it.key.attempt.value}}) {
    append_varint(body, number);
  }
  append_bytes(body, it.in_spool.value);
  append_varint(body, it.sent.frames);
  append_bytes(body, it.sent.places.encode().value);
  return as_record(body);
}

struct Decoded {
  Report report;
  SpooledAttempt attempt;
};

std::optional<Decoded> decode_ended(Fields& fields) {
  auto report = decode_report(fields.bytes());
  if (!report || report->report.ended.size() != 1) return std::nullopt;
  Decoded out{std::move(report->report), {}};
  out.attempt.ended = out.report.ended.front();
  out.attempt.key.job = JobId{fields.number()};
  out.attempt.key.item = ItemIndex{fields.number()};
  out.attempt.key.attempt = AttemptNumber{static_cast<std::uint32_t>(fields.number())};
  out.attempt.in_spool = Bytes{std::string(fields.bytes())};
  out.attempt.sent.frames = fields.number();
  out.attempt.sent.places = ExtentList::decode(fields.bytes());
  if (fields.failed()) return std::nullopt;
  return out;
}

Result<void> write_all(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return std::unexpected(errno_error(errno, path));
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

Result<std::string> read_all(int file, std::uint64_t offset, std::uint64_t size, const std::string& path) {
  std::string out(size, '\0');
  std::size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t got = ::pread(file, out.data() + filled, out.size() - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(errno_error(errno, path));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  out.resize(filled);
  return out;
}

}  // namespace

Result<std::unique_ptr<SpoolIndex>> SpoolIndex::open(const std::string& folder) {
  std::string path = concat(folder, "/index");
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return std::unexpected(errno_error(errno, path, "choose another folder with --data"));
  std::unique_ptr<SpoolIndex> index(new SpoolIndex(std::move(path), file));
  if (auto read = index->read(); !read) return pass(read);
  return index;
}

SpoolIndex::~SpoolIndex() {
  ::close(file_);
}

Result<void> SpoolIndex::read() {
  struct stat info{};
  if (::fstat(file_, &info) != 0) return std::unexpected(errno_error(errno, path_));
  auto bytes = read_all(file_, 0, static_cast<std::uint64_t>(info.st_size), path_);
  if (!bytes) return pass(bytes);
  std::map<Token, SpooledAttempt> attempts;
  std::string_view rest = *bytes;
  while (rest.size() >= kHeader) {
    const std::uint64_t size = read_fixed(rest);
    if (size > kLargestRecord || size > rest.size() - kHeader) break;
    const std::string_view body = rest.substr(kHeader, size);
    if (checksum(body) != read_fixed(rest.substr(8))) break;
    Fields fields(body);
    const auto what = static_cast<What>(fields.number());
    if (what == What::ended) {
      auto decoded = decode_ended(fields);
      if (!decoded) break;
      const Token token = decoded->attempt.ended.token;
      // Only the newest incarnation can still be holding something.
      if (decoded->report.incarnation != found_.incarnation) {
        attempts.clear();
        records_.clear();
      }
      found_.worker = decoded->report.worker;
      found_.incarnation = decoded->report.incarnation;
      records_[token] = {size_, kHeader + size};
      attempts[token] = std::move(decoded->attempt);
    } else {
      while (!fields.empty()) {
        const GrantId grant{fields.number()};
        const Token token{grant, ItemIndex{fields.number()}};
        records_.erase(token);
        attempts.erase(token);
      }
    }
    size_ += kHeader + size;
    rest.remove_prefix(kHeader + size);
  }
  // What follows is torn: the process was killed, or the machine stopped, while it was written.
  if (!rest.empty() && ::ftruncate(file_, static_cast<off_t>(size_)) != 0) {
    return std::unexpected(errno_error(errno, path_));
  }
  for (auto& [token, it] : attempts) {
    useful_ += records_.at(token).size;
    found_.attempts.push_back(std::move(it));
  }
  std::ranges::sort(found_.attempts, {}, [&](const SpooledAttempt& it) { return records_.at(it.ended.token).offset; });
  return {};
}

Result<void> SpoolIndex::append(const std::string& records) {
  auto written = write_all(file_, records, path_);
  if (!written) {
    (void)::ftruncate(file_, static_cast<off_t>(size_));
    return written;
  }
  size_ += records.size();
  return {};
}

Result<void> SpoolIndex::add(WorkerId worker, std::uint64_t incarnation, const std::vector<SpooledAttempt>& attempts) {
  std::string records;
  std::map<Token, Place> places;
  for (const SpooledAttempt& it : attempts) {
    const std::string record = encode_ended(worker, incarnation, it);
    places[it.ended.token] = {size_ + records.size(), record.size()};
    records += record;
  }
  if (auto written = append(records); !written) return written;
  for (const auto& [token, place] : places) {
    useful_ += place.size;
    records_[token] = place;
  }
  return {};
}

Result<void> SpoolIndex::forget(const std::vector<Token>& told) {
  std::string body;
  append_varint(body, static_cast<std::uint64_t>(What::told));
  bool any = false;
  for (const Token& token : told) {
    const auto record = records_.extract(token);
    if (record.empty()) continue;
    any = true;
    useful_ -= record.mapped().size;
    append_varint(body, token.grant.value);
    append_varint(body, token.item.value);
  }
  if (!any) return {};
  if (records_.empty()) {
    if (::ftruncate(file_, 0) != 0) return std::unexpected(errno_error(errno, path_));
    size_ = 0;
    return {};
  }
  if (size_ >= kRewriteBytes && useful_ * 2 < size_) return rewrite();
  return append(as_record(body));
}

// With the records that are of use, in their order.
Result<void> SpoolIndex::rewrite() {
  std::map<std::uint64_t, Token> order;
  for (const auto& [token, place] : records_) order[place.offset] = token;
  const std::string next = path_ + ".new";
  const int file = ::open(next.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return std::unexpected(errno_error(errno, next));
  std::uint64_t size = 0;
  std::map<Token, Place> places;
  Result<void> done;
  for (const auto& [offset, token] : order) {
    const Place& place = records_.at(token);
    auto record = read_all(file_, place.offset, place.size, path_);
    done = record ? write_all(file, *record, next) : std::unexpected(record.error());
    if (!done) break;
    places[token] = {size, place.size};
    size += place.size;
  }
  if (done && ::fdatasync(file) != 0) done = std::unexpected(errno_error(errno, next));
  if (done && ::rename(next.c_str(), path_.c_str()) != 0) done = std::unexpected(errno_error(errno, next));
  if (!done) {
    ::close(file);
    ::unlink(next.c_str());
    return done;
  }
  // The descriptor keeps its number, which another thread may be about to sync.
  const bool replaced = ::dup3(file, file_, O_CLOEXEC) >= 0;
  const int error = errno;
  ::close(file);
  if (!replaced) return std::unexpected(errno_error(error, path_));
  size_ = size;
  useful_ = size;
  records_ = std::move(places);
  return {};
}

Result<void> SpoolIndex::sync() const {
  if (::fdatasync(file_) != 0) return std::unexpected(errno_error(errno, path_));
  return {};
}

}  // namespace drover
