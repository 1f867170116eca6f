// A command with placeholders, filled in for an item. The placeholders mean what GNU parallel means by them:
//
//   {}   the item            {.}  without its extension     {/}  its last path component
//   {//} its directory       {/.} last component without extension     {#}  its number, from 1
//
// With JSON items {name} is the field of that name and {} the whole line. Without any placeholder the item becomes the
// last argument. An item is never parsed again: what it contains is text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "wire/definition.h"

namespace drover {

class CommandTemplate {
 public:
  /// `before`: words of an image that stand before the command, or instead of it. They are taken as they are: a brace
  /// in them was not meant for an item.
  static Result<CommandTemplate> parse(const Definition& definition, const std::vector<std::string>& before = {});

  /// The argument list for this item.
  Result<std::vector<std::string>> render(std::string_view item, ItemIndex index) const;
  /// Whether render() would succeed, said before anything runs.
  Result<void> check(std::string_view item, ItemIndex index) const;
  /// The program, when it does not depend on the item.
  const std::string* fixed_program() const;

 private:
  enum class Kind : std::uint8_t { text, item, no_extension, base, directory, base_no_extension, number, field };
  struct Piece {
    Kind kind = Kind::text;
    std::string text;  // literal text, or the field's name
  };
  using Word = std::vector<Piece>;

  Word parse_word(std::string_view word);
  using Fields = std::map<std::string, std::string>;
  Result<std::string> fill(const Word& word, std::string_view item, ItemIndex index, const Fields& fields) const;

  std::vector<Word> words_;
  bool shell_ = false;
  bool json_ = false;
  bool any_placeholder_ = false;
};

/// Quoted so that /bin/sh reads it back as one word.
std::string shell_quote(std::string_view text);

/// The command as somebody could type it.
std::string shown_command(const std::vector<std::string>& command);

}  // namespace drover
