// Strong ids: a worker's id cannot be passed for a job's.
#pragma once

#include <compare>
#include <cstdint>

namespace drover {

/// A number that names one kind of thing. Zero is nobody.
template <class Tag, class Rep>
struct Id {
  using rep = Rep;
  Rep value = 0;

  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value(v) {}
  constexpr explicit operator bool() const { return value != 0; }
  constexpr auto operator<=>(const Id&) const = default;
};

using JobId = Id<struct JobTag, std::uint64_t>;  // the small number inside; a job's UUID is its name outside
using GrantId = Id<struct GrantTag, std::uint64_t>;
using WorkerId = Id<struct WorkerTag, std::uint64_t>;
using DefinitionId = Id<struct DefinitionTag, std::uint64_t>;
using ManifestId = Id<struct ManifestTag, std::uint64_t>;
using PollNumber = Id<struct PollTag, std::uint64_t>;
using AttemptNumber = Id<struct AttemptTag, std::uint32_t>;  // from 1, without gaps
using StreamId = Id<struct StreamTag, std::uint64_t>;
using MessageNumber = Id<struct MessageTag, std::uint64_t>;  // rises within a stream; no two streams share one
using Ticket = Id<struct TicketTag, std::uint64_t>;          // names who waits for a reply

/// An item's place in its job's manifest, from 0. Not an Id: zero is the first item.
struct ItemIndex {
  std::uint64_t value = 0;

  constexpr ItemIndex() = default;
  constexpr explicit ItemIndex(std::uint64_t v) : value(v) {}
  constexpr auto operator<=>(const ItemIndex&) const = default;
};

}  // namespace drover
