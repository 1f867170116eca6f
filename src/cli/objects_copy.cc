// drover objects cp, cat: objects to files, files to objects, objects to objects.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <boost/json.hpp>
#include <cmath>
#include <filesystem>

#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/answer.h"
#include "cli/object_access.h"
#include "cli/object_sources.h"
#include "cli/object_work.h"
#include "cli/objects_parts.h"
#include "cli/print.h"
#include "cli/transfer_progress.h"
#include "objects/file_transfer.h"
#include "objects/upload_writer.h"
#include "worker/stop_on_signal.h"

namespace drover {
namespace fs = std::filesystem;
namespace json = boost::json;
namespace {

using Scheme = ObjectUri::Scheme;

/// Of an object that is sent piece by piece: fewer than a store allows.
constexpr std::uint64_t kFewParts = 9'000;
constexpr std::size_t kInputBytes = std::size_t{256} << 10;

struct ObjectsCopyFlags : ObjectFlags {
  std::vector<std::string> places;
  bool recursive = false;
  bool no_glob = false;
  bool dry_run = false;
  int jobs = 8;
};

/// Where one object goes.
Result<ObjectUri> target_of(const FoundObject& from, const ObjectUri& to, bool into) {
  if (!into) return to;
  const ObjectUri out = to.with_key(to.key + from.relative);
  if (out.scheme != Scheme::file) return out;
  // A key is text, and must not lead elsewhere when it becomes a path.
  std::string_view rest = from.relative;
  while (true) {
    const bool is_last = !rest.contains('/');
    const std::string_view name = take_until(rest, '/');
    if (name.empty() || name == "." || name == ".." || name.size() > 255) {
      return fail(ErrorCode::bad_input,
                  fmt::format("cannot save {}: '{}' is not a valid file name below {}", from.uri.text(), from.relative,
                              to.text()),
                  "copy it to a name of its own: drover objects cp URI FILE");
    }
    if (is_last) return out;
  }
}

std::string path_of(const ObjectUri& file) {
  return concat(file.store == "/" ? "" : file.store, "/", file.key);
}

/// Copies one object, whatever the two ends are.
class Copier {
 public:
  Copier(const StoreOpener& opener, TransferProgress& progress, std::stop_token stop, int jobs)
      : opener_(opener), progress_(progress), stop_(std::move(stop)), transfer_({.pieces_at_once = jobs}) {}

  Result<void> copy(OpenStores& stores, const FoundObject& from, const ObjectUri& to) {
    if (stop_.stop_requested()) return {};
    auto done = copy_once(stores, from, to);
    if (!done && done.error().code == ErrorCode::stopped && stop_.stop_requested()) return {};
    if (done) progress_.copied();
    return done;
  }

 private:
  Result<void> copy_once(OpenStores& stores, const FoundObject& from, const ObjectUri& to) {
    auto source = stores.get(from.uri);
    if (!source) return pass(source);
    const auto passed = [this](std::uint64_t bytes) { progress_.passed(bytes); };
    if (to.scheme == Scheme::file) {
      const std::string path = path_of(to);
      std::error_code error;
      fs::create_directories(fs::path(path).parent_path(), error);
      if (error) return std::unexpected(errno_error(error.value(), concat("cannot make the directory of ", path)));
      return without_info(transfer_.download(**source, opens(from.uri), from.uri.key, path, passed, stop_));
    }
    auto target = stores.get(to);
    if (!target) return pass(target);
    if (from.uri.scheme == Scheme::file) {
      return without_info(transfer_.upload(**target, opens(to), path_of(from.uri), to.key, passed, stop_));
    }
    if (from.uri.scheme == to.scheme && from.uri.store == to.store) {
      auto copied = (*target)->copy(from.uri.key, to.key);
      if (copied) passed(copied->size);
      return without_info(std::move(copied));
    }
    // A list says neither the type nor the user's metadata.
    auto about = (*source)->head(from.uri.key);
    if (!about) return without_info(std::move(about));
    const auto part_bytes = std::max<std::uint64_t>(UploadWriter::kPartBytes, about->size / kFewParts);
    UploadWriter writer(**target, {.key = to.key, .type = about->type, .metadata = about->metadata}, part_bytes);
    auto got = (*source)->get(from.uri.key, {}, [&](std::string_view bytes) -> Result<void> {
      if (stop_.stop_requested()) return fail(ErrorCode::stopped, "interrupted");
      passed(bytes.size());
      return writer.add(bytes);
    });
    if (!got) return pass(got);
    return without_info(writer.finish());
  }

  static Result<void> without_info(Result<ObjectInfo> done) {
    if (!done) return pass(done);
    return {};
  }
  FileTransfer::Open opens(const ObjectUri& uri) const {
    return [this, uri] { return opener_.open(uri); };
  }

  const StoreOpener& opener_;
  TransferProgress& progress_;
  const std::stop_token stop_;
  FileTransfer transfer_;
};

Result<int> tell_copied(const ObjectsCopyFlags& flags, const TransferProgress& progress, std::uint64_t failures,
                        int signal) {
  const double seconds = progress.seconds();
  std::string words = fmt::format("{} copied, {}", plural(progress.objects(), "object"), format_size(progress.bytes()));
  if (seconds >= 0.1) {
    words += fmt::format(" in {}", format_duration_us(std::llround(seconds * 1e6)));
    words += fmt::format(" ({}/s)",
                         format_size(static_cast<std::uint64_t>(static_cast<double>(progress.bytes()) / seconds)));
  }
  if (failures > 0) words += fmt::format("; {} failed", format_count(failures));
  tell(flags.common,
       json::object{{"copied", progress.objects()},
                    {"bytes", progress.bytes()},
                    {"failed", failures},
                    {"seconds", std::round(seconds * 1000) / 1000}},
       words);
  if (signal != 0) return kInterrupted;
  return failures == 0 ? kAllSucceeded : kSomeDidNot;
}

/// Standard input becomes an object.
Result<int> copy_input(const ObjectsCopyFlags& flags, const StoreOpener& opener, const ObjectUri& to) {
  if (to.is_prefix()) {
    return fail(ErrorCode::bad_input, concat(to.text(), " is not the name of an object"),
                "name the object that standard input is written to");
  }
  auto store = opener.open(to);
  if (!store) return pass(store);
  const StopOnSignal signals;
  TransferProgress progress(flags.common);
  UploadWriter writer(**store, {.key = to.key, .type = std::string(type_of_file(to.key))});
  std::string buffer(kInputBytes, '\0');
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (signals.signal() != 0) return kInterrupted;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(errno_error(errno, "cannot read standard input"));
    if (got == 0) break;
    progress.passed(static_cast<std::uint64_t>(got));
    if (auto added = writer.add(std::string_view(buffer).substr(0, static_cast<std::size_t>(got))); !added) {
      return pass(added);
    }
  }
  auto done = writer.finish();
  if (!done) return pass(done);
  progress.copied();
  progress.clear();
  return tell_copied(flags, progress, 0, 0);
}

Result<int> copy(const ObjectsCopyFlags& flags) {
  if (flags.places.size() < 2) {
    return fail(ErrorCode::bad_input, "objects cp takes what to copy and where to",
                "drover objects cp a.jpg s3://photos/in/");
  }
  auto to = object_place(flags.places.back());
  if (!to) return pass(to);
  if (to->scheme == Scheme::http) {
    return fail(ErrorCode::bad_input, concat(to->text(), " cannot be written: a web server keeps no objects"),
                "copy to s3://BUCKET/KEY or to a file");
  }
  const bool reads_input = flags.places.size() == 2 && flags.places.front() == "-";
  const SourceRules rules{.recursive = flags.recursive, .globs = !flags.no_glob};
  std::vector<ObjectUri> from;
  bool several = flags.places.size() > 2;
  for (std::size_t i = 0; i + 1 < flags.places.size() && !reads_input; ++i) {
    auto place = object_place(flags.places[i]);
    if (!place) return pass(place);
    several = several || means_several(*place, rules);
    from.push_back(std::move(*place));
  }
  if (several && !to->is_prefix()) to->key += '/';
  auto opener = object_opener(flags);
  if (!opener) return pass(opener);
  if (reads_input && flags.dry_run) {
    show("would copy standard input to {}\n", utf8(to->text()));
    return kAllSucceeded;
  }
  if (reads_input) return copy_input(flags, *opener, *to);

  const StopOnSignal signals;
  TransferProgress progress(flags.common);
  Copier copier(*opener, progress, signals.token(), flags.jobs);
  ObjectWork work(*opener, static_cast<std::size_t>(flags.jobs), [&](const Error& error) {
    progress.clear();
    print_error(error);
  });
  std::optional<Error> failed;
  std::uint64_t would_copy = 0;
  for (const ObjectUri& place : from) {
    auto found = each_object(*opener, place, rules, signals.token(), [&](const FoundObject& it) -> Result<void> {
      if (it.uri.key.ends_with('/')) return {};  // it marks a directory
      auto target = target_of(it, *to, to->is_prefix());
      if (flags.dry_run && target) {
        ++would_copy;
        if (!flags.common.quiet && !flags.common.json) {
          show("would copy {} to {}\n", utf8(it.uri.text()), utf8(target->text()));
        }
        return {};
      }
      progress.found(it.info.size);
      work.add([&copier, it, target](OpenStores& stores) -> Result<void> {
        if (!target) return std::unexpected(target.error());
        return copier.copy(stores, it, *target);
      });
      return {};
    });
    if (!found) {
      failed = std::move(found.error());
      break;
    }
  }
  progress.all_found();
  const std::uint64_t failures = work.finish();
  progress.clear();
  if (failed && failed->code != ErrorCode::stopped) return std::unexpected(std::move(*failed));
  if (flags.dry_run) {
    tell(flags.common, json::object{{"would_copy", would_copy}, {"failed", failures}},
         fmt::format("{} would be copied", plural(would_copy, "object")));
    return failures == 0 ? kAllSucceeded : kSomeDidNot;
  }
  return tell_copied(flags, progress, failures, signals.signal());
}

Result<int> print_objects(const ObjectsCopyFlags& flags) {
  auto places = object_places(flags.places);
  if (!places) return pass(places);
  auto opener = object_opener(flags);
  if (!opener) return pass(opener);
  const StopOnSignal signals;
  OpenStores stores(*opener);
  for (const ObjectUri& place : *places) {
    auto found = each_object(*opener, place, {.globs = !flags.no_glob}, signals.token(),
                             [&](const FoundObject& it) -> Result<void> {
                               auto store = stores.get(it.uri);
                               if (!store) return pass(store);
                               auto got = (*store)->get(it.uri.key, {}, [&](std::string_view bytes) -> Result<void> {
                                 if (signals.signal() != 0) return fail(ErrorCode::stopped, "interrupted");
                                 if (print_text(stdout, bytes)) return {};
                                 return fail(ErrorCode::stopped, "nobody reads the output");
                               });
                               if (!got) return pass(got);
                               return {};
                             });
    if (signals.signal() != 0) return kInterrupted;
    if (!found && found.error().code == ErrorCode::stopped) return kAllSucceeded;  // as when a pipe is closed
    if (!found) return pass(found);
  }
  return kAllSucceeded;
}

}  // namespace

void add_objects_copy(const Verb& parent, Invocation& invocation) {
  auto flags = std::make_shared<ObjectsCopyFlags>();
  Verb verb = parent.add_subcommand("cp", "Copy objects and files; the last argument is where to");
  verb.add_option("from-to", flags->places, "What to copy, then where to; - is standard input")
      .type_name("FROM... TO")
      .required();
  add_object_flags(verb, *flags);
  verb.add_flag("-r,--recursive", flags->recursive, "Copy everything below a prefix or directory");
  verb.add_flag("--no-glob", flags->no_glob, "Take * and ? in keys literally");
  verb.add_flag("--dry-run", flags->dry_run, "Show what would be copied");
  verb.add_option("--jobs", flags->jobs, "Number of objects to copy at once (default: 8)").type_name("N").range(1, 256);
  verb.footer(
      "A TO that ends in a slash, or is a directory, is where objects go under their own names.\n"
      "Examples:\n"
      "  drover objects cp a.jpg b.jpg s3://photos/in/\n"
      "  drover objects cp -r s3://photos/out/ results/\n"
      "  drover objects cp 's3://photos/**.json' results/\n"
      "  drover objects cp https://example.org/model.pt s3://models/model.pt\n"
      "  tar c photos | drover objects cp - s3://backups/photos.tar");
  verb.callback([flags, &invocation] {
    auto done = copy(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

void add_objects_print(const Verb& parent, Invocation& invocation) {
  auto flags = std::make_shared<ObjectsCopyFlags>();
  Verb verb = parent.add_subcommand("cat", "Print objects to standard output");
  verb.add_option("uri", flags->places, "What to print; repeatable").type_name("URI").required();
  add_object_flags(verb, *flags);
  verb.add_flag("--no-glob", flags->no_glob, "Take * and ? in keys literally");
  verb.footer("Example:\n  drover objects cat s3://photos/out/a.json");
  verb.callback([flags, &invocation] {
    auto done = print_objects(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
