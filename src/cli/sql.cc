// drover sql: a question in SQL to a run's ledger.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "base/utf8.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "store/ledger_query.h"
#include "store/run_folder.h"

namespace drover {
namespace {

namespace json = boost::json;

constexpr std::int64_t kLimitMs = 60'000;

struct SqlFlags {
  CommonFlags common;
  std::string reference;
  std::string query;
};

std::string to_text(const Cell& cell) {
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return std::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* bytes = std::get_if<Bytes>(&cell)) return utf8(bytes->value);
  return "";
}

json::value to_json(const Cell& cell) {
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return *number;
  if (std::holds_alternative<std::monostate>(cell)) return nullptr;
  return json::string(utf8(to_text(cell)));
}

// A tab or newline inside a value would tear the row apart.
std::string one_field(std::string text) {
  std::ranges::replace_if(text, [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

Result<int> sql(const SqlFlags& flags) {
  const std::string root = data_root(flags.common.data);
  auto reference = resolve(root, flags.reference);
  if (!reference) return pass(reference);
  if (auto whole = refuse_item(*reference); !whole) return pass(whole);
  auto folder = RunFolder::look(root, reference->run);
  if (!folder) return pass(folder);
  std::vector<std::string> names;
  const QuerySink sink{[&](const std::vector<std::string>& columns) {
                         names = columns;
                         if (!flags.common.json && !flags.common.quiet) show("{}\n", fmt::join(names, "\t"));
                       },
                       [&](const std::vector<Cell>& cells) {
                         if (flags.common.json) {
                           json::object row;
                           for (std::size_t i = 0; i < cells.size(); ++i) row[names[i]] = to_json(cells[i]);
                           show("{}\n", json::serialize(row));
                         } else {
                           std::vector<std::string> texts;
                           texts.reserve(cells.size());
                           for (const Cell& cell : cells) texts.push_back(one_field(to_text(cell)));
                           show("{}\n", fmt::join(texts, "\t"));
                         }
                         return true;
                       }};
  if (auto asked = query_ledger(folder->database(), flags.query, kLimitMs, sink); !asked) return pass(asked);
  return kAllSucceeded;
}

}  // namespace

void add_sql(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<SqlFlags>();
  CLI::App* verb =
      app.add_subcommand("sql", "Ask a run's ledger in SQL: tab-separated rows, or JSON lines with --json");
  add_common_flags(*verb, flags->common);
  verb->add_option("--run", flags->reference, "The run, by name or id (default: the newest)")->type_name("RUN");
  verb->add_option("query", flags->query, "The query; see the views 'items' and 'attempts'")
      ->type_name("SQL")
      ->required();
  verb->footer(
      "Examples:\n"
      "  drover sql \"select state, exit_code, count(*) from items group by 1, 2\"\n"
      "  drover sql --run nightly \"select item, wall_us from items order by wall_us desc limit 10\"");
  verb->callback([flags, &invocation] {
    auto done = sql(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
