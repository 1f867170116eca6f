#include "screen/shape.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "screen/plain_text.h"

namespace drover {
namespace {

constexpr std::size_t kMostRead = 2000;  // cells; what differs after that differs for nobody
constexpr std::size_t kMostCells = 160;
constexpr std::size_t kLongestQuotedWord = 40;

// A bare name that ends so is some item's file. Names of programs and modules (loss.py, torch.cuda) are not in here.
constexpr auto kDataEndings = std::to_array<std::string_view>(
    {"avi",  "bam",  "bin",  "bmp",  "bz2",  "csv",      "dat",  "db",   "dcm",     "fasta", "fastq", "fits",
     "flac", "gif",  "gz",   "h5",   "hdf5", "html",     "jpeg", "jpg",  "json",    "jsonl", "lock",  "log",
     "mkv",  "mov",  "mp3",  "mp4",  "nc",   "nii",      "npy",  "npz",  "parquet", "pdf",   "pkl",   "png",
     "pt",   "pth",  "sam",  "svg",  "tar",  "tfrecord", "tif",  "tiff", "tmp",     "tsv",   "txt",   "vcf",
     "wav",  "webm", "webp", "xlsx", "xml",  "xz",       "yaml", "zip",  "zst"});

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}
bool is_word(char c) {
  return is_letter(c) || is_digit(c);
}

std::size_t length_while(std::string_view text, bool (*fits)(char)) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, fits) - text.begin());
}

// "9f86d081", "00007f1e2c3d4e5f": too long and too mixed for a word.
bool is_hex_word(std::string_view word) {
  if (!std::ranges::all_of(word, is_hex)) return false;
  const auto digits = static_cast<std::size_t>(std::ranges::count_if(word, is_digit));
  if (digits == word.size()) return word.size() >= 16;
  return word.size() >= 12 ? digits >= 1 : word.size() >= 7 && digits >= 2;
}

/// The length of a UUID at the beginning of `text`, or 0.
std::size_t uuid_length(std::string_view text) {
  constexpr std::size_t kLength = 36;
  if (text.size() < kLength || (text.size() > kLength && is_word(text[kLength]))) return 0;
  for (std::size_t i = 0; i < kLength; ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_hex(text[i])) return 0;
  }
  return kLength;
}

/// 12, 3.50, 1,234,567, 3,224,224, 1e-05, 10.0.0.1: the length of the number or numbers that `text` begins with.
std::size_t number_length(std::string_view text) {
  std::size_t end = length_while(text, is_digit);
  while (end + 1 < text.size() && (text[end] == '.' || text[end] == ',') && is_digit(text[end + 1])) {
    end += 1 + length_while(text.substr(end + 1), is_digit);
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '-' || text[exponent] == '+')) ++exponent;
    const std::size_t digits = length_while(text.substr(std::min(exponent, text.size())), is_digit);
    const std::size_t after = exponent + digits;
    if (digits > 0 && (after == text.size() || !is_word(text[after]))) end = after;
  }
  return end;
}

bool in_path(char c) {
  return c != ' ' && !std::string_view("\"'`<>()[]{},;:|").contains(c);
}
bool in_relative_path(char c) {
  return in_path(c) && c != '=';  // "file=a/b.png" is a name and a path
}

std::string_view without_final_dots(std::string_view text) {
  return text.substr(0, text.find_last_not_of(".!?") + 1);
}

bool starts_at_a_root(std::string_view text) {
  for (const std::string_view root : {"/", "./", "../", "~/"}) {
    if (text.starts_with(root) && text.size() > root.size() &&
        (is_word(text[root.size()]) || std::string_view("._-").contains(text[root.size()]))) {
      return true;
    }
  }
  return text.size() > 3 && is_letter(text[0]) && text[1] == ':' && text[2] == '\\';
}

// "a/b.png", "x/y/z" and "scan.dcm" are paths; "and/or", "I/O" and "torch.cuda" are not.
bool is_relative_path(std::string_view word) {
  const std::size_t slash = word.rfind('/');
  const std::size_t dot = word.rfind('.');
  const bool has_ending = dot != std::string_view::npos && dot > 0 && dot + 1 < word.size() &&
                          (slash == std::string_view::npos || dot > slash + 1);
  if (slash == std::string_view::npos) {
    return has_ending && std::ranges::find(kDataEndings, word.substr(dot + 1)) != kDataEndings.end();
  }
  return slash > 0 && std::ranges::any_of(word, is_letter) && (has_ending || std::ranges::count(word, '/') >= 2);
}

/// The length of the path that `text` begins with, or 0.
std::size_t path_length(std::string_view text) {
  if (starts_at_a_root(text)) {
    const std::size_t drive = text[1] == ':' ? 2 : 0;
    return without_final_dots(text.substr(0, drive + length_while(text.substr(drive), in_path))).size();
  }
  const std::string_view path = without_final_dots(text.substr(0, length_while(text, in_relative_path)));
  return is_relative_path(path) ? path.size() : 0;
}

struct Quoted {
  std::string_view inside;
  std::size_t length = 0;  // with the quotes
};

std::optional<Quoted> quoted_at(std::string_view text) {
  static constexpr std::array<std::array<std::string_view, 2>, 6> kQuotes = {
      {{"'", "'"}, {"\"", "\""}, {"`", "`"}, {"`", "'"}, {"‘", "’"}, {"“", "”"}}};
  for (const auto& [open, close] : kQuotes) {
    if (!text.starts_with(open)) continue;
    for (std::size_t at = text.find(close, open.size()); at != std::string_view::npos;
         at = text.find(close, at + close.size())) {
      const std::size_t end = at + close.size();
      if (end < text.size() && is_word(text[end])) continue;  // an apostrophe inside
      return Quoted{text.substr(open.size(), at - open.size()), end};
    }
  }
  return {};
}

class Shaper {
 public:
  std::string shape(std::string_view text) {
    while (!text.empty()) text.remove_prefix(take_one(text));
    return std::move(out_);
  }

 private:
  // Shapes what `text` begins with, and says how long that was.
  std::size_t take_one(std::string_view text) {
    if (text.front() == ' ') {
      if (!out_.ends_with(' ')) out_ += ' ';
      return put(1, "");
    }
    if (after_word_) return take_inside_word(text);
    if (const auto quoted = quoted_at(text)) return put(quoted->length, shape_quoted(quoted->inside));
    if (const std::size_t scheme = length_while(text, is_word); scheme > 0 && text.substr(scheme).starts_with("://")) {
      const std::string_view rest = text.substr(scheme + 3);
      const std::size_t end = std::min(rest.find_first_of(" \"'`<>(),;"), rest.size());
      out_ += text.substr(0, scheme + 3);
      return put(scheme + 3 + without_final_dots(rest.substr(0, end)).size(), "PATH");
    }
    if (const std::size_t length = path_length(text); length > 0) return put(length, "PATH");
    if (const std::size_t length = uuid_length(text); length > 0) return put(length, "H");
    const std::string_view word = text.substr(0, length_while(text, is_word));
    const bool prefixed = word.size() > 2 && (word.starts_with("0x") || word.starts_with("0X")) &&
                          std::ranges::all_of(word.substr(2), is_hex);
    if (prefixed || is_hex_word(word)) return put(word.size(), "H");
    return take_inside_word(text);
  }

  std::size_t take_inside_word(std::string_view text) {
    const bool digits = is_digit(text.front());
    const std::size_t letters = length_while(text, is_letter);
    const std::size_t length = digits ? number_length(text) : std::max<std::size_t>(letters, 1);
    put(length, digits ? "N" : text.substr(0, length));
    after_word_ = digits || letters > 0;
    return length;
  }

  std::size_t put(std::size_t length, std::string_view shown) {
    out_ += shown;
    after_word_ = false;
    return length;
  }

  static std::string shape_quoted(std::string_view inside) {
    std::string shown;
    if (starts_at_a_root(inside) || is_relative_path(inside)) {
      shown = "PATH";
    } else if (inside.contains(' ') || inside.size() > kLongestQuotedWord) {
      shown = "…";
    } else {
      shown = Shaper().shape(inside);
    }
    return "'" + shown + "'";
  }

  std::string out_;
  bool after_word_ = false;  // whether what was taken last was a part of a word
};

}  // namespace

std::string shape_of(std::string_view line) {
  return plain_text(Shaper().shape(plain_text(after_last_return(line), kMostRead)), kMostCells);
}

}  // namespace drover
