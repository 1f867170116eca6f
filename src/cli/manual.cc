#include "cli/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/utf8.h"

namespace drover {
namespace {

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// Text as roff shows it unchanged: no line is taken for a request, a dash is one that can be copied.
std::string roff(std::string_view text) {
  std::string out;
  bool at_line_start = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) >= 0x80) {
      const Utf8Char it = utf8_char(text, at);
      out += fmt::format("\\[u{:04X}]", static_cast<std::uint32_t>(it.point));
      at += it.length - 1;
      at_line_start = false;
      continue;
    }
    if (at_line_start && (c == '.' || c == '\'')) out += "\\&";
    at_line_start = c == '\n';
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '`': out += "\\(ga"; break;
      case '\'': out += "\\(aq"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      case '"': out += "\\(dq"; break;
      default: out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) {
  return fmt::format("\\fB{}\\fR", roff(text));
}

std::string italic(std::string_view text) {
  return fmt::format("\\fI{}\\fR", roff(text));
}

std::string sentence(std::string_view text) {
  return fmt::format("{}{}\n", roff(text), text.ends_with('.') || text.empty() ? "" : ".");
}

std::string flag_text(const CommandFlag& flag) {
  std::string out;
  for (const std::string& name : flag.names) out += (out.empty() ? "" : ", ") + bold(name);
  if (flag.takes_value) out += " " + italic(flag.value.name);
  return out;
}

std::string choices_text(const CommandValue& value) {
  if (value.choices.empty()) return "";
  return fmt::format("One of {}.\n", roff(fmt::format("{}", fmt::join(value.choices, ", "))));
}

void add_synopsis(std::string& out, const std::string& title, const CommandNode& command) {
  out += ".PP\n" + bold(title);
  if (!command.flags.empty()) out += " [" + italic("options") + "]";
  for (const CommandArgument& it : command.arguments) {
    out += it.required ? " " + italic(upper(it.name)) : " [" + italic(upper(it.name)) + "]";
  }
  if (command.takes_command) out += " \\-\\- " + italic("command") + " [" + italic("argument") + " ...]";
  out += "\n";
  for (const CommandNode& part : command.parts) add_synopsis(out, title + " " + part.name, part);
}

void add_options(std::string& out, const CommandNode& command) {
  for (const CommandArgument& it : command.arguments) {
    out += ".TP\n" + italic(upper(it.name)) + "\n" + sentence(it.help) + choices_text(it.value);
  }
  for (const CommandFlag& flag : command.flags) {
    out += ".TP\n" + flag_text(flag) + "\n" + sentence(flag.help) + choices_text(flag.value);
  }
}

void add_examples(std::string& out, const CommandNode& command) {
  if (command.examples.empty()) return;
  out += ".SH EXAMPLES\n.nf\n.RS 4\n" + roff(command.examples) + ".RE\n.fi\n";
}

std::string page_head(const std::string& title, const std::string& help, const std::string& version) {
  return fmt::format(".TH {} 1 \"\" \"{}\" \"Drover\"\n.nh\n.ad l\n.SH NAME\n{} \\- {}\n", roff(upper(title)),
                     roff("drover " + version), roff(title), roff(help));
}

ManualPage page_of_verb(const CommandNode& verb, const std::string& version) {
  const std::string title = "drover-" + verb.name;
  std::string out = page_head(title, verb.help, version);
  out += ".SH SYNOPSIS\n";
  if (verb.parts.empty() || !verb.arguments.empty() || verb.flags.size() > 1) {
    CommandNode alone = verb;
    alone.parts.clear();
    add_synopsis(out, "drover " + verb.name, alone);
  }
  for (const CommandNode& part : verb.parts) add_synopsis(out, "drover " + verb.name + " " + part.name, part);
  out += ".SH DESCRIPTION\n" + sentence(verb.help);
  if (!verb.notes.empty()) out += ".PP\n" + roff(verb.notes);
  out += ".SH OPTIONS\n";
  add_options(out, verb);
  for (const CommandNode& part : verb.parts) {
    out += fmt::format(".SS drover {} {}\n", roff(verb.name), roff(part.name)) + sentence(part.help);
    add_options(out, part);
  }
  CommandNode with_parts = verb;
  for (const CommandNode& part : verb.parts) {
    if (!verb.examples.contains(part.examples)) with_parts.examples += part.examples;
  }
  add_examples(out, with_parts);
  out += ".SH SEE ALSO\n" + bold("drover") + "(1)\n";
  return {title + ".1", std::move(out)};
}

}  // namespace

std::vector<ManualPage> manual_pages(const CommandNode& root, const std::string& version) {
  std::string out = page_head(root.name, root.help.substr(0, root.help.find_last_not_of('.') + 1), version);
  out += ".SH SYNOPSIS\n" + bold("drover") + " " + italic("verb") + " [" + italic("options") + "]\n";
  out += ".SH DESCRIPTION\n" + sentence(root.help) + ".SH VERBS\n";
  for (const CommandNode& verb : root.parts) {
    out += ".TP\n" + bold("drover-" + verb.name) + "(1)\n" + sentence(verb.help);
  }
  out += ".SH OPTIONS\n";
  add_options(out, root);
  add_examples(out, root);
  out += R"(.SH ENVIRONMENT
.TP
\fBDROVER_DATA\fR
Data folder, for runs and for a server, if \fB\-\-data\fR is not given (default: \(ti/.local/share/drover).
.TP
\fBDROVER_SERVER\fR
Address of the server, if \fB\-\-server\fR is not given.
.TP
\fBDROVER_KEY\fR
Key for that server.
.TP
\fBDROVER_CA\fR
File with the certificate of the authority that signed the server's certificate.
.SH EXIT STATUS
0: success, or all items succeeded. 1: some did not. 2: invalid usage or input. 130: interrupted.
.SH SEE ALSO
)";
  for (const CommandNode& verb : root.parts) {
    out += fmt::format("{}(1){}\n", bold("drover-" + verb.name), &verb == &root.parts.back() ? "" : ",");
  }
  std::vector<ManualPage> pages{{"drover.1", std::move(out)}};
  for (const CommandNode& verb : root.parts) pages.push_back(page_of_verb(verb, version));
  return pages;
}

}  // namespace drover
