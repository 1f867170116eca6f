#include "core/schedule/room_index.h"

#include <tuple>

namespace drover {
namespace {

// Spreads consecutive numbers evenly: the tree's shape depends on nothing else.
std::uint64_t scramble(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

bool RoomIndex::comes_before(const Entry& a, const Entry& b) {
  return std::tie(a.room.milli_cpus, a.poll) < std::tie(b.room.milli_cpus, b.poll);
}

void RoomIndex::gather(Node& node) {
  node.most = node.entry.room;
  if (node.left) node.most = node.most.at_least(node.left->most);
  if (node.right) node.most = node.most.at_least(node.right->most);
}

std::pair<RoomIndex::Tree, RoomIndex::Tree> RoomIndex::split(Tree tree, const Entry& entry) {
  if (!tree) return {};
  if (comes_before(tree->entry, entry)) {
    auto [before, after] = split(std::move(tree->right), entry);
    tree->right = std::move(before);
    gather(*tree);
    return {std::move(tree), std::move(after)};
  }
  auto [before, after] = split(std::move(tree->left), entry);
  tree->left = std::move(after);
  gather(*tree);
  return {std::move(before), std::move(tree)};
}

RoomIndex::Tree RoomIndex::merge(Tree before, Tree after) {
  if (!before) return after;
  if (!after) return before;
  if (before->weight > after->weight) {
    before->right = merge(std::move(before->right), std::move(after));
    gather(*before);
    return before;
  }
  after->left = merge(std::move(before), std::move(after->left));
  gather(*after);
  return after;
}

void RoomIndex::insert(const Entry& entry) {
  auto node = std::make_unique<Node>();
  node->entry = entry;
  node->most = entry.room;
  node->weight = scramble(entry.poll);
  auto [before, after] = split(std::move(root_), entry);
  root_ = merge(merge(std::move(before), std::move(node)), std::move(after));
}

bool RoomIndex::erase(const Resources& room, std::uint64_t poll) {
  auto [before, from] = split(std::move(root_), {.room = room, .poll = poll});
  auto [it, after] = split(std::move(from), {.room = room, .poll = poll + 1});
  root_ = merge(std::move(before), std::move(after));
  return it != nullptr;
}

std::optional<std::uint64_t> RoomIndex::first_fit(const Resources& ask, const Accepts& accepts) const {
  return first_fit(root_, ask, accepts);
}

std::optional<std::uint64_t> RoomIndex::first_fit(const Tree& tree, const Resources& ask, const Accepts& accepts) {
  if (!tree || !ask.fits(tree->most)) return std::nullopt;
  if (const auto found = first_fit(tree->left, ask, accepts)) return found;
  if (ask.fits(tree->entry.room) && accepts(tree->entry)) return tree->entry.poll;
  return first_fit(tree->right, ask, accepts);
}

bool RoomIndex::each_descending(const Accepts& visit) const {
  return each_descending(root_, visit);
}

bool RoomIndex::each_descending(const Tree& tree, const Accepts& visit) {
  if (!tree) return true;
  return each_descending(tree->right, visit) && visit(tree->entry) && each_descending(tree->left, visit);
}

}  // namespace drover
