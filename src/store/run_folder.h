// A run's folder: its database, its lock, its control socket. One process holds a folder at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/name.h"
#include "base/result.h"

namespace drover {

/// `flag` if given, else $DROVER_DATA, else ~/.local/share/drover.
std::string data_root(const std::string& flag);

class RunFolder {
 public:
  /// Takes the folder, making it if need be. What somebody set aside and did not live to replace is put back. If its
  /// holder is gone but processes of its last run are still dying, waits for them, and says so through `notice`.
  static Result<RunFolder> hold(const std::string& root, const std::string& name,
                                const std::function<void(const std::string&)>& notice);
  /// Makes a folder that nobody has, called `base` or `base-2`, `base-3`, …, and gives its name.
  static Result<std::string> claim(const std::string& root, const std::string& base);
  /// A server's folder: of its own kind, beside the runs.
  static Result<RunFolder> hold_server(const std::string& root);
  /// A worker's, likewise.
  static Result<RunFolder> hold_worker(const std::string& root, const std::string& name);
  /// A folder that is only read: the one that was set aside, if whoever did that has gone.
  static Result<RunFolder> look(const std::string& root, const std::string& name);
  /// The run most recently held, if any, of those with a job, or which are held now.
  static std::optional<std::string> newest(const std::string& root);
  static std::vector<std::string> all(const std::string& root);
  /// The process that is the server of this folder now, if one is.
  static std::optional<int> server_holder(const std::string& root);

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  /// Moves everything in it out of the way and holds an empty folder of the same name.
  Result<void> set_aside();
  /// Deletes what was set aside, if anything was. Until then it would come back if this process died.
  Result<void> drop_aside();
  /// Deletes the folder, puts back what was set aside, and lets go.
  Result<void> discard();

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  std::string database() const { return path_ + "/drover.db"; }
  std::string logs() const { return path_ + "/logs"; }
  std::string objects() const { return path_ + "/objects"; }
  std::string machines() const { return path_ + "/machines"; }
  bool has_database() const;
  /// It has a job, or cannot be read, which whoever reads it will say.
  bool has_job() const;
  /// Keeps the lock while it is open anywhere: slots inherit it, so that a folder is free only when all of a run's
  /// processes are gone.
  int lock_descriptor() const { return lock_; }
  /// The process that holds it now, if one does.
  std::optional<int> holder() const;

 private:
  RunFolder(std::string root, std::string name);
  std::string title() const;
  std::string what_to_do() const;
  std::string aside() const;
  std::string gone() const;
  Result<void> recover_aside();
  Result<void> take_lock(const std::function<void(const std::string&)>& notice);

  std::string root_;
  std::string name_;
  std::string path_;
  enum class Kind : std::uint8_t { run, server, worker };
  Kind kind_ = Kind::run;
  int lock_ = -1;
};

}  // namespace drover
