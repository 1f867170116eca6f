// Bytes on their way to a peer, in order. An empty one costs next to nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace drover {

class Outbox {
 public:
  /// Small pieces are joined, so that a head and its body leave together.
  void push(std::string bytes);

  bool empty() const { return bytes_ == 0; }
  std::size_t bytes() const { return bytes_; }
  /// Points at the first pieces, as many as there is room for; gives how many. The first of them only gets longer by
  /// push(), never shorter: OpenSSL wants to be asked again with what it was asked with.
  std::size_t front(std::span<std::string_view> views) const;
  void pop(std::size_t bytes);
  void clear();

 private:
  std::vector<std::string> pieces_;
  std::size_t first_ = 0;   // of pieces_, not wholly gone
  std::size_t offset_ = 0;  // of that one, gone
  std::size_t bytes_ = 0;
};

}  // namespace drover
