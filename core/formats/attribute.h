// Attributes of files, groups and variables, with the types that they are stored in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "formats/element_type.h"

namespace swath::formats {

// Numbers, booleans, bytes of fixed length: of no dimensions for one value, else of one.
struct NumbersValue {
  ElementType type = {};
  Shape shape;
  std::vector<std::byte> bytes;  // in the byte order of `type`
  bool operator==(const NumbersValue& other) const = default;
};

// A value of another shape that only Zarr has: an object, a list of different things, null in a list. As JSON.
struct JsonValue {
  std::string text;
  bool operator==(const JsonValue& other) const = default;
};

struct NullValue {
  bool operator==(const NullValue& other) const = default;
};

// Text is UTF-8: what a file has in Latin-1 was turned into it.
using AttributeValue = std::variant<NullValue, std::string, std::vector<std::string>, NumbersValue, JsonValue>;

// In the order of the file. Of few entries each: looked through one by one.
class Attributes {
 public:
  using Entry = std::pair<std::string, AttributeValue>;

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries) : entries_(entries) {}

  const std::vector<Entry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  // Null where there is none of that name.
  const AttributeValue* find(const std::string& name) const;
  // The text of an attribute; empty where there is none, or it is no text.
  std::string text(const std::string& name) const;
  // Adds one that is not there yet at the end, unlooked.
  void add(std::string name, AttributeValue value) { entries_.emplace_back(std::move(name), std::move(value)); }
  // Replaces one in its place, or adds it at the end.
  void set(const std::string& name, AttributeValue value);
  void remove(const std::string& name);
  // Each of the changes set; those that are null removed.
  Attributes with(const Attributes& changes) const;
  bool operator==(const Attributes& other) const = default;

 private:
  std::vector<Entry> entries_;
};

// Attributes of types that AttributeValue does not hold (structures, references), each in words; by name.
using OtherAttributes = std::map<std::string, std::string>;

}  // namespace swath::formats
