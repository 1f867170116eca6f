// The SQL that reads and writes a record, made from its list of fields.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"
#include "wire/cells.h"

namespace drover {

/// "a,b,c"
template <class Record>
std::string column_list() {
  std::string names;
  for (const std::string& column : column_names<Record>()) names += (names.empty() ? "" : ",") + column;
  return names;
}

/// `verb` is INSERT or REPLACE.
template <class Record>
std::string put_sql(std::string_view verb, std::string_view table) {
  std::string marks = "?";
  for (std::size_t i = 1; i < column_names<Record>().size(); ++i) marks += ",?";
  return concat(verb, " INTO ", table, "(", column_list<Record>(), ") VALUES(", marks, ")");
}

template <class Record>
std::string select_sql(std::string_view table) {
  return concat("SELECT ", column_list<Record>(), " FROM ", table);
}

}  // namespace drover
