// What a server answered, read for people. What is not there, or is null, reads as nothing: an older server says less.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>

#include "cli/verb.h"

namespace drover {

std::string text_in(const boost::json::value& object, const char* name);
std::uint64_t number_in(const boost::json::value& object, const char* name);
bool flag_in(const boost::json::value& object, const char* name);
const boost::json::array& list_in(const boost::json::value& object, const char* name);
const boost::json::object& object_in(const boost::json::value& object, const char* name);

/// "a=1 b=2"
std::string pairs_text(const boost::json::object& pairs);

/// "a, b"
std::string words_text(const boost::json::array& words);

/// "2026-01-14 10:15:00", here; "-" for 0.
std::string local_time(std::uint64_t epoch_ms);

/// The answer as it came with --json; else the sentence, unless --quiet.
int tell(const CommonFlags& flags, const boost::json::value& answer, const std::string& sentence);

}  // namespace drover
