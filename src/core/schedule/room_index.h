// Polls that wait for work, by the room that their workers have left. Finding one that holds what an item asks for
// takes logarithmic time in all but odd cases, however many wait: a balanced tree (a treap) ordered by free CPUs, in
// which each node knows the most of each resource that anything below it has.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/resources.h"

namespace drover {

class RoomIndex {
 public:
  struct Entry {
    Resources room;
    std::uint64_t poll = 0;
    std::uint32_t kind = 0;  // of the worker
  };
  using Accepts = std::function<bool(const Entry&)>;

  bool empty() const { return root_ == nullptr; }
  void insert(const Entry& entry);
  /// False when it is not there.
  bool erase(const Resources& room, std::uint64_t poll);

  /// Of those that hold `ask` and are accepted, the one with the fewest free CPUs; among equals the oldest.
  std::optional<std::uint64_t> first_fit(const Resources& ask, const Accepts& accepts) const;
  /// From the most free CPUs down, until `visit` says to stop. Whether it did not.
  bool each_descending(const Accepts& visit) const;

 private:
  struct Node;
  // Each has memory of its own: that of very many goes as it came, one by one.
  using Tree = std::unique_ptr<Node>;
  struct Node {
    Entry entry;
    Resources most;  // of each resource, in this node and below
    std::uint64_t weight = 0;
    Tree left;
    Tree right;
  };

  static bool comes_before(const Entry& a, const Entry& b);
  static void gather(Node& node);
  /// Those before `entry`, and those at or after it.
  static std::pair<Tree, Tree> split(Tree tree, const Entry& entry);
  static Tree merge(Tree before, Tree after);
  static std::optional<std::uint64_t> first_fit(const Tree& tree, const Resources& ask, const Accepts& accepts);
  static bool each_descending(const Tree& tree, const Accepts& visit);

  Tree root_;
};

}  // namespace drover
