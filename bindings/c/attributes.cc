#include <cstdlib>
#include <cstring>
#include <limits>

#include "arguments.h"
#include "errors.h"
#include "formats/attribute.h"
#include "handles.h"

namespace swath::c_interface {
namespace {

using formats::Attributes;
using formats::AttributeValue;
using formats::NumbersValue;

AttributeValue value_of(const std::string& dtype, int64_t count, const void* values) {
  if (values == nullptr) return formats::NullValue{};
  const auto* text = static_cast<const char*>(values);
  if (dtype == "text" && count == -1) return std::string(text);
  if (count < 0) fail_argument("attribute: " + std::to_string(count) + " values; expected none or more");
  if (dtype == "text") return std::string(text, static_cast<size_t>(count));
  if (dtype == "texts") {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < count; ++i) {
      texts.emplace_back(text);
      text += texts.back().size() + 1;
    }
    return texts;
  }
  NumbersValue numbers;
  numbers.type = type_of_text(dtype.c_str()).in_byte_order(formats::kIsBigEndianHere);
  if (count != 1) numbers.shape = {count};
  const auto* bytes = static_cast<const std::byte*>(values);
  numbers.bytes.assign(bytes, bytes + count * numbers.type.bytes);
  return numbers;
}

const Attributes& attributes_of(const DataFile& file, const char* holder) {
  const std::string path = holder == nullptr ? "" : holder;
  if (const formats::Group* group = file.contents().group(path)) return group->attributes;
  if (const formats::Variable* variable = file.contents().variable(path)) return variable->attributes;
  fail_argument(file.path() + ": there is no group and no variable '" + path + "'");
}

// An attribute's value as C receives it: type, count and bytes.
struct Told {
  std::string dtype;
  int64_t count = 0;
  std::string bytes;
};

Told told(const AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return {"text", std::ssize(*text), *text + '\0'};
  }
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    Told found{"texts", std::ssize(*texts), ""};
    for (const std::string& one : *texts) found.bytes += one + '\0';
    return found;
  }
  if (const auto* numbers = std::get_if<NumbersValue>(&value)) {
    NumbersValue here = *numbers;
    const formats::ElementType own = here.type.in_byte_order(formats::kIsBigEndianHere);
    if (own != here.type) swap_bytes(here.type, here.bytes);
    return {own.to_string(),
            element_count(here.shape),
            {reinterpret_cast<const char*>(here.bytes.data()), here.bytes.size()}};
  }
  if (const auto* json = std::get_if<formats::JsonValue>(&value)) {
    return {"json", std::ssize(json->text), json->text + '\0'};
  }
  return {"json", 4, std::string("null") + '\0'};
}

}  // namespace
}  // namespace swath::c_interface

using namespace swath;
using namespace swath::c_interface;

int swath_set_attribute(swath_file* file, const char* holder, const char* name, const char* dtype, int64_t count,
                        const void* values) {
  return guarded([&] {
    swath_file& handle = *given(file, "file");
    const auto changes = parsed(*handle.comm, [&] {
      const std::string type = values == nullptr ? "" : given(dtype, "dtype");
      return formats::Attributes{{given(name, "name"), value_of(type, count, values)}};
    });
    handle.file->set_attributes(holder == nullptr ? "" : holder, changes);
  });
}

int swath_get_attribute(const swath_file* file, const char* holder, const char* name, char* dtype, int64_t* count,
                        void** values) {
  return guarded([&] {
    if (values != nullptr) *values = nullptr;
    const DataFile& known_file = *given(file, "file")->file;
    const formats::AttributeValue* found = attributes_of(known_file, holder).find(given(name, "name"));
    if (found == nullptr) {
      fail_argument(known_file.path() + ": there is no attribute '" + name + "' of '" +
                    (holder == nullptr ? "" : holder) + "'");
    }
    const Told value = told(*found);
    if (dtype != nullptr && value.dtype.size() >= SWATH_DTYPE_MAX) {
      throw Error(ErrorKind::kUnsupported, std::string("attribute ") + name +
                                               ": its type has a longer name than SWATH_DTYPE_MAX: " + value.dtype);
    }
    if (values != nullptr) {
      *values = std::malloc(std::max<size_t>(value.bytes.size(), 1));
      if (*values == nullptr) throw std::bad_alloc();
      std::memcpy(*values, value.bytes.data(), value.bytes.size());
    }
    if (dtype != nullptr) dtype[value.dtype.copy(dtype, value.dtype.size())] = '\0';
    if (count != nullptr) *count = value.count;
  });
}

int swath_attribute_count(const swath_file* file, const char* holder, int64_t* count) {
  return guarded(
      [&] { *given(count, "count") = std::ssize(attributes_of(*given(file, "file")->file, holder).entries()); });
}

int swath_attribute_name(const swath_file* file, const char* holder, int64_t number, const char** name) {
  return guarded([&] {
    const auto& entries = attributes_of(*given(file, "file")->file, holder).entries();
    if (number < 0 || number >= std::ssize(entries)) {
      fail_argument("attribute " + std::to_string(number) + ": there are " + std::to_string(std::ssize(entries)));
    }
    *given(name, "name") = entries[static_cast<size_t>(number)].first.c_str();
  });
}

void swath_free(void* memory) { std::free(memory); }
