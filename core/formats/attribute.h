// Attributes of files, groups and variables, with their stored types.
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

// Numbers, booleans, or bytes of fixed length; no dimensions for one value, one dimension for a list.
struct NumbersValue {
  ElementType type = {};
  Shape shape;
  std::vector<std::byte> bytes;  // in the byte order of `type`
  bool operator==(const NumbersValue& other) const = default;
};

// A value that only Zarr has: an object, a list of mixed types, null in a list. As JSON.
struct JsonValue {
  std::string text;
  bool operator==(const JsonValue& other) const = default;
};

struct NullValue {
  bool operator==(const NullValue& other) const = default;
};

// Text is UTF-8; Latin-1 in a file was converted.
using AttributeValue = std::variant<NullValue, std::string, std::vector<std::string>, NumbersValue, JsonValue>;

// In the order of the file. A search looks at each entry, since there are few.
class Attributes {
 public:
  using Entry = std::pair<std::string, AttributeValue>;

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries) : entries_(entries) {}

  const std::vector<Entry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  // Returns null if there is no attribute of that name.
  const AttributeValue* find(const std::string& name) const;
  // The text of an attribute; empty if there is no such attribute, or if it is no text.
  std::string text(const std::string& name) const;
  // Appends an attribute, without a check that its name is new.
  void add(std::string name, AttributeValue value) { entries_.emplace_back(std::move(name), std::move(value)); }
  // Replaces an attribute at its position, or appends it.
  void set(const std::string& name, AttributeValue value);
  void remove(const std::string& name);
  // A copy with each of the changes set; a null value removes its attribute.
  Attributes with(const Attributes& changes) const;
  bool operator==(const Attributes& other) const = default;

 private:
  std::vector<Entry> entries_;
};

// Attributes of types that AttributeValue does not hold (structures, references): a description in words, by name.
using OtherAttributes = std::map<std::string, std::string>;

}  // namespace swath::formats
