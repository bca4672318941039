#include "formats/attribute.h"

#include <algorithm>

namespace swath::formats {

const AttributeValue* Attributes::find(const std::string& name) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& one) { return one.first == name; });
  return found == entries_.end() ? nullptr : &found->second;
}

std::string Attributes::text(const std::string& name) const {
  const AttributeValue* found = find(name);
  const std::string* text = found == nullptr ? nullptr : std::get_if<std::string>(found);
  return text == nullptr ? "" : *text;
}

void Attributes::set(const std::string& name, AttributeValue value) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& one) { return one.first == name; });
  if (found == entries_.end()) {
    entries_.emplace_back(name, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

void Attributes::remove(const std::string& name) {
  std::erase_if(entries_, [&](const Entry& one) { return one.first == name; });
}

Attributes Attributes::with(const Attributes& changes) const {
  Attributes changed = *this;
  for (const auto& [name, value] : changes.entries()) {
    if (std::holds_alternative<NullValue>(value)) {
      changed.remove(name);
    } else {
      changed.set(name, value);
    }
  }
  return changed;
}

}  // namespace swath::formats
