// What a verb that runs for long tells programs: a JSON object a line on standard output. Its work does not wait for
// whoever reads them.
#pragma once

#include <boost/json/object.hpp>

#include "notices/background_lines.h"

namespace drover {

class JsonEvents {
 public:
  JsonEvents();
  /// One that nobody reads in time is dropped; {"event":"dropped","count":N} says so to a reader that comes back.
  void write(const boost::json::object& event);
  /// Waits for the reader, however long that takes.
  void flush();

 private:
  BackgroundLines lines_;
};

}  // namespace drover
