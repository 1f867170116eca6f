// Containers where root is not to be had: in a user namespace this user is root, so layers can be mounted there and
// containers made, out of nothing but what this user could do anyway.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace drover {

/// So many users (or groups) inside are others outside.
struct IdMap {
  std::uint32_t inside = 0;
  std::uint32_t outside = 0;
  std::uint32_t count = 0;

  bool operator==(const IdMap&) const = default;
};

struct UserNamespace {
  std::vector<IdMap> users;  // the first: 0 inside is who we are
  std::vector<IdMap> groups;
  // The programs that may map more than ourselves (newuidmap, newgidmap); empty: there is only the first map.
  std::string map_users;
  std::string map_groups;
};

/// Whether somebody inside is anybody outside, and the other way round.
bool is_mapped(const std::vector<IdMap>& maps, std::uint32_t id);
bool is_known_inside(const std::vector<IdMap>& maps, std::uint32_t outside);

/// The ranges that a line "NAME:FIRST:COUNT" gives to this user, behind the map of the user alone.
std::vector<IdMap> maps_of(std::uint32_t own_id, const std::string& subordinates, const std::string& user_name,
                           std::uint32_t user_id);

/// Whether this process may mount as it is.
bool may_mount();

/// What one of ours would be like. An error: the machine lets this user have none.
Result<UserNamespace> find_user_namespace();

/// Either way.
bool may_make_containers();

}  // namespace drover
