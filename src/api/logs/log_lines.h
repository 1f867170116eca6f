// The lines of a log, as they pass by in pieces.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace drover::aws {

struct LogLine {
  std::uint64_t number = 0;  // from 0
  std::int64_t time_ms = 0;
  std::string text;
};

class LogLines {
 public:
  /// Lines before `first` are counted, and neither parsed nor taken.
  explicit LogLines(std::uint64_t first = 0) : first_(first) {}

  /// A piece of the log: objects of JSON, one a line (LogForm::json). Pieces may end anywhere. Lines are taken until
  /// `take` returns false.
  template <class Take>
  void add(std::string_view piece, Take&& take) {
    rest_ += piece;
    std::size_t begin = 0;
    bool goes_on = true;
    for (std::size_t end = rest_.find('\n'); goes_on && end != std::string::npos; end = rest_.find('\n', begin)) {
      const std::string_view text = std::string_view(rest_).substr(begin, end - begin);
      begin = end + 1;
      LogLine line{.number = passed_++};
      if (line.number < first_) continue;
      boost::json::error_code error;
      const boost::json::value value = boost::json::parse(text, error);
      if (error || !value.is_object()) continue;
      line.time_ms = value.get_object().at("time_ms").to_number<std::int64_t>();
      line.text = value.get_object().at("text").get_string();
      goes_on = take(std::move(line));
    }
    rest_.erase(0, begin);
  }
  /// How many there were by now.
  std::uint64_t passed() const { return passed_; }

 private:
  std::uint64_t first_;
  std::string rest_;
  std::uint64_t passed_ = 0;
};

}  // namespace drover::aws
