// Parses the header of .npy files, a Python literal: a dictionary of texts, numbers, booleans, tuples and lists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace swath::formats::npy {

struct Literal;
using LiteralList = std::vector<Literal>;  // a tuple or a list
struct LiteralItem;
using LiteralItems = std::vector<LiteralItem>;  // a dictionary

struct Literal {
  std::variant<std::string, int64_t, bool, LiteralList, LiteralItems> value;

  // Returns null if the value is of another kind.
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

// `source` is UTF-8. Throws Error{kFormat}, with the byte, if it is no such literal, or is nested more than 64 deep.
Literal parse_literal(std::string_view source);

// The text as Python's repr() writes it: 'x'; characters that are not ASCII stay as they are.
std::string text_literal(std::string_view text);

}  // namespace swath::formats::npy
