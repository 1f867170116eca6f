// drover backup, drover restore: a server's jobs, logs and objects in one file, and back.
#include <boost/json.hpp>

#include "base/units.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "engine/system_clock.h"
#include "objects/bucket_backup.h"
#include "store/backup.h"
#include "store/run_folder.h"

namespace drover {
namespace {

struct BackupFlags {
  CommonFlags common;
  std::string file;
};

using Work = Result<Backup> (*)(const std::string& root, const std::string& file);

Result<int> work_on(const BackupFlags& flags, Work work, std::string_view done) {
  auto backup = work(data_root(flags.common.data), flags.file);
  if (!backup) return pass(backup);
  if (flags.common.json) {
    show("{}\n", boost::json::serialize(boost::json::object{{"file", flags.file},
                                                            {"jobs", backup->jobs},
                                                            {"log_files", backup->files},
                                                            {"objects", backup->objects},
                                                            {"bytes", backup->bytes}}));
  } else if (!flags.common.quiet) {
    show("{}: {} {}, {}, {}, {} total\n", flags.file, plural(backup->jobs, "job"), done,
         plural(backup->files, "log file"), plural(backup->objects, "object"), format_size(backup->bytes));
  }
  return kAllSucceeded;
}

Verb add(const Verb& app, Invocation& invocation, const char* name, const char* help, Work work,
         std::string_view done) {
  auto flags = std::make_shared<BackupFlags>();
  Verb verb = app.add_subcommand(name, help);
  add_common_flags(verb, flags->common);
  verb.add_option("file", flags->file, "Backup file").type_name("FILE").required();
  verb.callback([flags, work, done, &invocation] {
    auto worked = work_on(*flags, work, done);
    invocation.exit_status = worked ? *worked : failure(worked.error());
  });
  return verb;
}

}  // namespace

void add_backup(const Verb& app, Invocation& invocation) {
  constexpr Work kBackup = [](const std::string& root, const std::string& file) {
    BucketBackup objects;
    return write_backup(root, file, &objects);
  };
  add(app, invocation, "backup",
      "Write a server's jobs, logs and objects to one file, even while the server is running", kBackup, "saved")
      .footer("Example:\n  drover backup monday.tar.zst");
}

void add_restore(const Verb& app, Invocation& invocation) {
  constexpr Work kRestore = [](const std::string& root, const std::string& file) {
    BucketBackup objects;
    return restore_backup(root, file, SystemWallClock().epoch_ms(), &objects);
  };
  add(app, invocation, "restore", "Create a server's data folder from a backup", kRestore, "restored")
      .footer("Example:\n  drover restore monday.tar.zst --data restored");
}

}  // namespace drover
