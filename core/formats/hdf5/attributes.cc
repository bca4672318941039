#include "formats/hdf5/attributes.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/error.h"
#include "formats/hdf5/names.h"
#include "formats/text.h"

namespace swath::formats::hdf5 {
namespace {

constexpr int64_t kAttributeBytesMax = int64_t{1} << 31;  // a damaged attribute may state any size

// HDF5's own names that images and tables use, too, on datasets that are no dimension scales.
bool is_of_scales(const std::string& name) { return name == "CLASS" || name == "NAME"; }

// An open attribute.
struct Opened {
  Handle attribute;
  Handle stored;  // the stored type
  Handle space;
  MappedType mapped;
  bool is_null = false;  // a null dataspace: there are no elements
  Shape shape;           // the shape, including that of an array type

  int64_t count() const { return is_null ? 0 : element_count(shape); }
  // One value has no dimensions, even if the file has some.
  Shape shown_shape() const { return count() == 1 ? Shape{} : shape; }
  bool is_text() const { return mapped.type.kind == 'S' || mapped.kind == MappedType::Kind::kText; }
  bool is_number() const { return mapped.type.is_number() || mapped.type.kind == 'b'; }
};

Opened open_attribute(hid_t holder, const std::string& name) {
  Opened found;
  found.attribute = Handle(library().H5Aopen(holder, stored_attribute_name(holder, name).c_str(), H5P_DEFAULT));
  found.stored = Handle(library().H5Aget_type(found.attribute.get()));
  found.mapped = map_type(found.stored.get());
  found.space = Handle(library().H5Aget_space(found.attribute.get()));
  found.is_null = is_null_space(found.space.get());
  if (!found.is_null) {
    found.shape = shape_of_space(found.space.get());
    found.shape.insert(found.shape.end(), found.mapped.inner.begin(), found.mapped.inner.end());
  }
  return found;
}

// The bytes of all elements, in a type of memory with this number of bytes for each element of the dataspace.
std::vector<std::byte> read_bytes(const Opened& from, hid_t type_in_memory) {
  const auto bytes = static_cast<int64_t>(library().H5Tget_size(type_in_memory));
  int64_t all = bytes;
  const size_t dimensions = from.shape.size() - from.mapped.inner.size();
  bool is_beyond = false;
  for (size_t i = 0; i < dimensions; ++i) is_beyond |= __builtin_mul_overflow(all, from.shape[i], &all);
  if (is_beyond || all > kAttributeBytesMax) throw CallError("it claims to be of too many bytes", 0);
  std::vector<std::byte> values(static_cast<size_t>(all));
  if (all > 0) checked(library().H5Aread(from.attribute.get(), type_in_memory, values.data()));
  return values;
}

// Frees the memory that the library allocated for text and sequences of variable length.
class Reclaimed {
 public:
  Reclaimed(const Opened& of, std::vector<std::byte>& values) : of_(of), values_(values) {}
  ~Reclaimed() {
    if (!values_.empty()) {
      library().H5Dvlen_reclaim(of_.stored.get(), of_.space.get(), H5P_DEFAULT, values_.data());
    }
  }
  Reclaimed(const Reclaimed&) = delete;
  Reclaimed& operator=(const Reclaimed&) = delete;

 private:
  const Opened& of_;
  std::vector<std::byte>& values_;
};

std::vector<std::string> read_texts(const Opened& from) {
  std::vector<std::byte> values = read_bytes(from, from.stored.get());
  std::vector<std::string> texts;
  if (from.mapped.kind == MappedType::Kind::kText) {
    const Reclaimed reclaimed(from, values);
    for (size_t at = 0; at + sizeof(char*) <= values.size(); at += sizeof(char*)) {
      const char* one = nullptr;
      std::memcpy(static_cast<void*>(&one), values.data() + at, sizeof one);
      texts.push_back(text_of(one == nullptr ? "" : one));
    }
    return texts;
  }
  const auto bytes = static_cast<size_t>(from.mapped.type.bytes);
  for (size_t at = 0; bytes > 0 && at + bytes <= values.size(); at += bytes) {
    texts.push_back(text_of({reinterpret_cast<const char*>(values.data() + at), bytes}));
  }
  return texts;
}

// Texts of several dimensions are a list of lists.
nlohmann::json nested(const std::vector<std::string>& texts, const Shape& shape, size_t depth, size_t& at) {
  nlohmann::json list = nlohmann::json::array();
  for (int64_t i = 0; i < shape[depth]; ++i) {
    if (depth + 1 < shape.size()) {
      list.push_back(nested(texts, shape, depth + 1, at));
    } else {
      list.push_back(texts[at++]);
    }
  }
  return list;
}

AttributeValue text_value(const Opened& from) {
  if (from.is_null) return std::string();
  std::vector<std::string> texts = read_texts(from);
  // An array of one text is that text; but an array type of one text in an array is a list of lists.
  if (texts.size() == 1 && (from.mapped.inner.empty() || from.shape.size() == 1)) return texts.front();
  if (from.shape.size() < 2) return texts;
  size_t at = 0;
  return JsonValue{nested(texts, from.shape, 0, at).dump()};
}

AttributeValue number_value(const Opened& from) {
  if (from.is_null) return NumbersValue{from.mapped.type, {0}, {}};
  return NumbersValue{from.mapped.type, from.shown_shape(), read_bytes(from, memory_type(from.stored.get()).get())};
}

std::string in_words(const MappedType& mapped) {
  if (mapped.kind == MappedType::Kind::kReference) return "references";
  if (mapped.kind == MappedType::Kind::kSequence) return "sequences of different lengths";
  if (!mapped.type.is_structure()) return "opaque bytes";
  std::string words = "a structure of ";
  for (const ElementField& field : mapped.type.fields) {
    if (&field != &mapped.type.fields.front()) words += ", ";
    words += field.name;
  }
  return words;
}

// The value of an attribute; nothing if it cannot be read.
template <typename Take>
void with_attribute(hid_t holder, const std::string& name, const Take& take) {
  try {
    take(open_attribute(holder, name));
  } catch (const UnmappedType&) {  // NOLINT(bugprone-empty-catch): the attribute is ignored
  } catch (const CallError&) {     // NOLINT(bugprone-empty-catch): the same
  } catch (const Error&) {         // NOLINT(bugprone-empty-catch): the same
  }
}

// Calls `take` with an attribute if it exists: this test costs less than an error of the library.
template <typename Take>
void with_existing(hid_t holder, const char* name, const Take& take) {
  if (library().H5Aexists(holder, name) > 0) with_attribute(holder, name, take);
}

void add_attribute(hid_t holder, const std::string& name, FoundAttributes& found) {
  std::string words = "of a type that NumPy has not";
  std::optional<AttributeValue> value;
  with_attribute(holder, name, [&](const Opened& opened) {
    if (opened.is_text()) {
      value = text_value(opened);
    } else if (opened.is_number()) {
      value = number_value(opened);
    } else {
      words = in_words(opened.mapped);
    }
  });
  if (value) {
    found.values.set(name, std::move(*value));
  } else {
    found.others[name] = words;
  }
}

}  // namespace

std::string stored_attribute_name(hid_t holder, const std::string& name) {
  for (const std::string& one : encodings(name)) {
    if (library().H5Aexists(holder, one.c_str()) > 0) return one;
  }
  return name;
}

bool is_own_name(const std::string& name) {
  static const std::set<std::string> own = {"CLASS",
                                            "NAME",
                                            "DIMENSION_LIST",
                                            "REFERENCE_LIST",
                                            "DIMENSION_LABELS",
                                            "_Netcdf4Dimid",
                                            "_Netcdf4Coordinates",
                                            "_NCProperties",
                                            "_nc3_strict"};
  return own.contains(name);
}

bool contains(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> attribute_names(hid_t holder) {
  std::vector<std::string> names;
  hsize_t at = 0;
  const auto note = [](hid_t, const char* name, const void*, void* found) -> herr_t {
    static_cast<std::vector<std::string>*>(found)->push_back(text_of(name));
    return 0;
  };
  checked(library().H5Aiterate2(holder, H5_INDEX_CRT_ORDER, H5_ITER_INC, &at, note, &names));
  return names;
}

FoundAttributes read_attributes(hid_t holder, const std::vector<std::string>& names) {
  const bool is_scale = contains(names, "CLASS") && attribute_text(holder, "CLASS") == "DIMENSION_SCALE";
  FoundAttributes found;
  for (const std::string& name : names) {
    if (!is_own_name(name) || (!is_scale && is_of_scales(name))) add_attribute(holder, name, found);
  }
  return found;
}

std::string attribute_text(hid_t holder, const char* name) {
  std::string found;
  with_existing(holder, name, [&](const Opened& opened) {
    if (!opened.is_text()) return;
    const AttributeValue value = text_value(opened);
    if (const auto* one = std::get_if<std::string>(&value)) found = *one;
  });
  return found;
}

std::vector<std::string> attribute_texts(hid_t holder, const char* name) {
  std::vector<std::string> found;
  with_existing(holder, name, [&](const Opened& opened) {
    if (opened.is_text()) found = opened.is_null ? std::vector<std::string>{""} : read_texts(opened);
  });
  return found;
}

std::optional<std::vector<int64_t>> attribute_integers(hid_t holder, const char* name) {
  std::optional<std::vector<int64_t>> found;
  with_existing(holder, name, [&](const Opened& opened) {
    const bool is_integer = opened.mapped.type.kind == 'i' || opened.mapped.type.kind == 'u';
    if (opened.is_null || !is_integer || !opened.mapped.inner.empty()) return;
    const std::vector<std::byte> bytes = read_bytes(opened, library().id("H5T_NATIVE_LLONG_g"));
    std::vector<int64_t> values(bytes.size() / sizeof(int64_t));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    found = std::move(values);
  });
  return found;
}

std::optional<std::vector<std::byte>> attribute_element(hid_t holder, const char* name, hid_t type_in_memory) {
  std::optional<std::vector<std::byte>> found;
  with_existing(holder, name, [&](const Opened& opened) {
    if (opened.count() == 1 && !opened.mapped.has_objects) found = read_bytes(opened, type_in_memory);
  });
  return found;
}

std::vector<haddr_t> first_references(hid_t holder, const char* name, size_t count) {
  std::vector<haddr_t> found;
  with_existing(holder, name, [&](const Opened& opened) {
    const bool is_list = opened.mapped.kind == MappedType::Kind::kSequence && opened.mapped.inner.empty();
    if (!is_list || opened.is_null || opened.shape.size() > 1 || opened.count() != static_cast<int64_t>(count)) return;
    const Handle of_list(library().H5Tget_super(opened.stored.get()));
    if (checked(library().H5Tequal(of_list.get(), library().id("H5T_STD_REF_OBJ_g"))) <= 0) return;
    std::vector<std::byte> values = read_bytes(opened, opened.stored.get());
    const Reclaimed reclaimed(opened, values);
    for (size_t at = 0; at + sizeof(hvl_t) <= values.size(); at += sizeof(hvl_t)) {
      hvl_t list = {};
      std::memcpy(&list, values.data() + at, sizeof list);
      haddr_t address = HADDR_UNDEF;
      if (list.len > 0 && list.p != nullptr) std::memcpy(&address, list.p, sizeof address);
      found.push_back(address);
    }
  });
  return found;
}

Shape shape_of_space(hid_t space) {
  const int count = checked(library().H5Sget_simple_extent_ndims(space));
  std::vector<hsize_t> lengths(static_cast<size_t>(count));
  checked(library().H5Sget_simple_extent_dims(space, lengths.data(), nullptr));
  for (const hsize_t length : lengths) {
    if (length > static_cast<hsize_t>(INT64_MAX)) {
      throw Error(ErrorKind::kFormat, "a length of " + std::to_string(length) + " is beyond 64-bit offsets");
    }
  }
  return {lengths.begin(), lengths.end()};
}

bool is_null_space(hid_t space) { return checked(library().H5Sget_simple_extent_type(space)) == H5S_NULL; }

}  // namespace swath::formats::hdf5
