// The header of a .npy file is a Python literal: a dictionary of texts, numbers, booleans, tuples and lists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace swath::formats::npy {

struct Literal;
using LiteralList = std::vector<Literal>;  // of a tuple or a list
struct LiteralItem;
using LiteralItems = std::vector<LiteralItem>;  // of a dictionary

struct Literal {
  std::variant<std::string, int64_t, bool, LiteralList, LiteralItems> value;

  // Null where it is of another kind.
  const std::string* text() const { return std::get_if<std::string>(&value); }
  const int64_t* number() const { return std::get_if<int64_t>(&value); }
  const bool* boolean() const { return std::get_if<bool>(&value); }
  const LiteralList* list() const { return std::get_if<LiteralList>(&value); }
  const LiteralItems* items() const { return std::get_if<LiteralItems>(&value); }
};

struct LiteralItem {
  std::string name;
  Literal value;
};

// `source` is UTF-8. Throws Error{kFormat}, with the byte, for what is no such literal, or nested more than 64 deep.
Literal parse_literal(std::string_view source);

// As Python's repr() writes a text: 'x', with what is not ASCII as it is.
std::string text_literal(std::string_view text);

}  // namespace swath::formats::npy
