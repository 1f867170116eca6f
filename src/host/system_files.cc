#include "host/system_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <sstream>

#include "ports/descriptor.h"

namespace drover {

// Not by a stream: what is read of a process that ends meanwhile is an error, which a stream throws.
std::string read_system_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char part[4096];
  for (ssize_t got = 0; file && (got = ::read(file.get(), part, sizeof(part))) > 0;) {
    text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

bool write_system_file(const std::string& path, std::string_view text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::vector<std::string> split_fields(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) parts.push_back(part);
  return parts;
}

std::optional<std::uint32_t> whole_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace drover
