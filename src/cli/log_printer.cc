#include "cli/log_printer.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdio>

#include "base/utf8.h"
#include "cli/print.h"

namespace drover {
namespace json = boost::json;
namespace {

std::string time_text(std::int64_t time_ms) {
  if (time_ms == 0) return "(time unknown)         ";  // as wide as a time
  const std::time_t seconds = time_ms / 1000;
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03}", fmt::localtime(seconds), time_ms % 1000);
}

}  // namespace

bool LogPrinter::write(std::string_view text) {
  if (text.empty()) return true;
  at_line_start_ = text.back() == '\n';
  return print_text(stdout, text);
}

void LogPrinter::print_heading(const std::string& text) {
  if (look_.json) return;
  if (!at_line_start_) write("\n");
  write(text);
  write("\n");
}

void LogPrinter::print_problem(const Error& error) {
  if (look_.json) write(json::serialize(json::object{{"problem", error.message}, {"next", error.next}}) + "\n");
}

bool LogPrinter::print(const LogKey& key, const LineBlock& block) {
  if (!look_.json && !look_.times && !look_.items) return write(block.bytes);
  for (std::string_view rest = block.bytes; !rest.empty();) {
    const std::size_t newline = rest.find('\n');
    if (!print_line(key, block.stream, block.time_ms, rest.substr(0, newline))) return false;
    rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + 1);
  }
  return true;
}

bool LogPrinter::print_line(const LogKey& key, LogStream stream, std::int64_t time_ms, std::string_view text) {
  if (look_.json) {
    return write(json::serialize(json::object{{"item", key.item.value},
                                              {"attempt", key.attempt.value},
                                              {"stream", std::string(to_string(stream))},
                                              {"time_ms", time_ms},
                                              {"text", utf8(text)}}) +
                 "\n");
  }
  std::string line;
  if (look_.times) line += time_text(time_ms) + " ";
  if (look_.items) line += fmt::format("{}: ", key.item.value);
  line += text;
  line += '\n';
  return write(line);
}

bool LogPrinter::print(const SearchHit& hit) {
  if (look_.json) {
    return write(json::serialize(json::object{{"item", hit.key.item.value},
                                              {"attempt", hit.key.attempt.value},
                                              {"line", hit.line},
                                              {"stream", std::string(to_string(hit.stream))},
                                              {"time_ms", hit.time_ms},
                                              {"match", hit.matches},
                                              {"text", utf8(hit.text)}}) +
                 "\n");
  }
  // As grep does it: a colon at a match, a dash at what stands near one.
  const char mark = hit.matches ? ':' : '-';
  std::string line = hit.after_gap ? "--\n" : "";
  if (look_.times) line += time_text(hit.time_ms) + " ";
  line += fmt::format("{}{}{}{}{}\n", hit.key.item.value, mark, hit.line, mark, hit.text);
  return write(line);
}

}  // namespace drover
