// drover sql: a question in SQL to the ledger of a run, or of a server.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/units.h"
#include "base/utf8.h"
#include "cli/answer.h"
#include "cli/print.h"
#include "cli/server_client.h"
#include "store/ledger_query.h"
#include "store/run_folder.h"

namespace drover {
namespace {

namespace json = boost::json;

constexpr std::int64_t kLimitMs = 60'000;
constexpr std::uint64_t kMostRows = 100'000;  // of a server

struct SqlFlags {
  CommonFlags common;
  ServerFlags server;
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

std::string to_text(const json::value& cell) {
  if (cell.is_null()) return "";
  return cell.is_string() ? std::string(cell.get_string()) : json::serialize(cell);
}

Result<int> ask_server(const SqlFlags& flags) {
  if (!flags.reference.empty()) {
    return fail(ErrorCode::bad_input, "--run cannot be combined with a server: it names a run on this machine",
                "omit one of them; to select a server's job use the column job_name");
  }
  auto client = ServerClient::connect(flags.common, flags.server);
  if (!client) return pass(client);
  auto answer =
      client->post("/api/v1/sql", json::object{{"query", flags.query}, {"limit", kMostRows}}, Repeat::allowed);
  if (!answer) return pass(answer);
  std::vector<std::string> names;
  for (const json::value& name : list_in(*answer, "columns")) names.push_back(to_text(name));
  if (!flags.common.json && !flags.common.quiet) show("{}\n", fmt::join(names, "\t"));
  for (const json::value& cells : list_in(*answer, "rows")) {
    json::object row;
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (flags.common.json) row[names[i]] = cells.at(i);
      texts.push_back(one_field(to_text(cells.at(i))));
    }
    show("{}\n", flags.common.json ? json::serialize(row) : fmt::format("{}", fmt::join(texts, "\t")));
  }
  if (flag_in(*answer, "cut")) {
    print_notice(
        fmt::format("only the first {} rows are shown (the server's limit); add conditions or a limit to the query",
                    format_count(list_in(*answer, "rows").size())));
  }
  return kAllSucceeded;
}

Result<int> sql(const SqlFlags& flags) {
  if (names_server(flags.server)) return ask_server(flags);
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
  if (auto asked = query_ledger(folder->database(), flags.query, {.time_ms = kLimitMs}, sink); !asked)
    return pass(asked);
  return kAllSucceeded;
}

}  // namespace

void add_sql(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<SqlFlags>();
  Verb verb = app.add_subcommand(
      "sql", "Query the ledger of a run or a server with SQL; prints tab-separated rows, or JSON lines with --json");
  add_common_flags(verb, flags->common);
  add_place_flags(verb, flags->server);
  verb.add_option("--run", flags->reference, "Name or id of the run (default: the newest)").type_name("RUN");
  verb.add_option("query", flags->query, "SQL query; see the views 'items' and 'attempts'").type_name("SQL").required();
  verb.footer(
      "Examples:\n"
      "  drover sql \"select state, exit_code, count(*) from items group by 1, 2\"\n"
      "  drover sql --run nightly \"select item, wall_us from items order by wall_us desc limit 10\"\n"
      "  drover sql --server http://head.example.org:8750 \"select job_name, sum(cpu_ms) from attempts group by 1\"");
  verb.callback([flags, &invocation] {
    auto done = sql(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
