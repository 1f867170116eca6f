// The loop of everything that is watched: fetch each second, draw when something changed, leave at q.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/verb.h"
#include "screen/run_view.h"
#include "screen/screen_size.h"

namespace drover {

/// What is watched: fetched each second, laid out whenever the screen changes.
class Scene {
 public:
  virtual ~Scene() = default;
  virtual Result<void> fetch() = 0;
  /// `trouble`: why the last fetch failed, if it did.
  virtual std::vector<std::string> lines(ScreenSize size, const std::string& trouble) const = 0;
};

/// Until somebody presses q. An error: there is no terminal, or not even the first fetch went well.
Result<int> watch(const CommonFlags& common, Scene& scene);

/// The lines of one run or job, with a last one that says how to leave.
std::vector<std::string> whole_screen(RunView view, ScreenSize size, const std::string& trouble);

/// Seconds of a clock that only goes forward.
double steady_s();

}  // namespace drover
