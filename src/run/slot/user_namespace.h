// A user namespace of the helper's own, for when drover is not root: in it the helper may mount layers, and let a
// runtime make containers of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/slot_protocol.h"

namespace drover::slot {

class UserNamespace {
 public:
  void read(FrameReader& reader);
  bool is_wanted() const { return !users_.empty(); }
  /// This process is root in it from now on. Says why it is not; empty: it is.
  std::string enter() const;

 private:
  struct Map {
    std::uint32_t inside;
    std::uint32_t outside;
    std::uint32_t count;
  };
  static std::vector<Map> read_maps(FrameReader& reader);
  static std::string words(const std::vector<Map>& maps);
  std::string map_alone() const;
  std::string enter_mapped_by_others() const;

  std::vector<Map> users_;
  std::vector<Map> groups_;
  std::string map_users_;  // programs that map more than one; empty: there is only one
  std::string map_groups_;
};

}  // namespace drover::slot
