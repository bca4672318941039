#include "formats/hdf5/element_types.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "space/distribution.h"

namespace swath::formats::hdf5 {
namespace {

Handle copy_of(const std::string& name) { return Handle(library().H5Tcopy(checked(library().id(name.c_str())))); }

Handle half_type(bool big_endian) {
  Handle made = copy_of("H5T_IEEE_F32BE_g");
  const Library& all = library();
  checked(all.H5Tset_fields(made.get(), 15, 10, 5, 0, 10));
  checked(all.H5Tset_size(made.get(), 2));
  checked(all.H5Tset_ebias(made.get(), 15));
  if (!big_endian) checked(all.H5Tset_order(made.get(), H5T_ORDER_LE));
  return made;
}

Handle array_of(const ElementType& type, const Shape& shape) {
  Handle one = stored_type(type);
  if (shape.empty()) return one;
  const std::vector<hsize_t> lengths(shape.begin(), shape.end());
  return Handle(library().H5Tarray_create2(one.get(), static_cast<unsigned>(lengths.size()), lengths.data()));
}

// HDF5 has no overlapping fields.
void check_fields(const ElementType& type) {
  std::vector<const ElementField*> fields;
  for (const ElementField& field : type.fields) fields.push_back(&field);
  std::sort(fields.begin(), fields.end(), [](const auto* a, const auto* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < fields.size(); ++i) {
    const ElementField& before = *fields[i - 1];
    if (before.offset + before.type.bytes * element_count(before.shape) <= fields[i]->offset) continue;
    fail_argument("HDF5 cannot store dtype " + type.words() + ": its fields '" + before.name + "' and '" +
                  fields[i]->name + "' overlap");
  }
}

Handle structure_type(const ElementType& type) {
  check_fields(type);
  Handle made(library().H5Tcreate(H5T_COMPOUND, static_cast<size_t>(type.bytes)));
  for (const ElementField& field : type.fields) {
    const Handle of_field = array_of(field.type, field.shape);
    checked(library().H5Tinsert(made.get(), field.name.c_str(), static_cast<size_t>(field.offset), of_field.get()));
  }
  return made;
}

bool has_possible_size(const ElementType& type) {
  const auto is_one_of = [&](std::initializer_list<int64_t> sizes) {
    return std::find(sizes.begin(), sizes.end(), type.bytes) != sizes.end();
  };
  if (type.kind == 'i' || type.kind == 'u') return is_one_of({1, 2, 4, 8});
  if (type.kind == 'f') return is_one_of({2, 4, 8, sizeof(long double)});
  if (type.kind == 'c') return is_one_of({8, 16, 2 * sizeof(long double)});
  return type.bytes > 0;
}

[[noreturn]] void refuse(const ElementType& type) {
  fail_argument("HDF5 cannot store dtype " + type.words() +
                "; it stores integers, floats, complex numbers, bool, fixed-length byte strings, and structures of "
                "these");
}

}  // namespace

Handle integer_type(const ElementType& type) {
  const std::string sign = type.kind == 'i' ? "I" : "U";
  return copy_of("H5T_STD_" + sign + std::to_string(8 * type.bytes) + (type.is_big_endian ? "BE_g" : "LE_g"));
}

Handle float_type(const ElementType& type) {
  if (type.bytes == 2) return half_type(type.is_big_endian);
  if (type.bytes <= 8) {
    return copy_of("H5T_IEEE_F" + std::to_string(8 * type.bytes) + (type.is_big_endian ? "BE_g" : "LE_g"));
  }
  Handle made = copy_of("H5T_NATIVE_LDOUBLE_g");
  checked(library().H5Tset_order(made.get(), type.is_big_endian ? H5T_ORDER_BE : H5T_ORDER_LE));
  return made;
}

Handle complex_type(const ElementType& type) {
  const int64_t half = type.bytes / 2;
  const Handle part = half > 8 ? copy_of("H5T_NATIVE_LDOUBLE_g")
                               : float_type({.kind = 'f', .bytes = half, .is_big_endian = type.is_big_endian});
  Handle made(library().H5Tcreate(H5T_COMPOUND, static_cast<size_t>(type.bytes)));
  checked(library().H5Tinsert(made.get(), "r", 0, part.get()));
  checked(library().H5Tinsert(made.get(), "i", static_cast<size_t>(half), part.get()));
  return made;
}

Handle boolean_type() {
  Handle made(library().H5Tenum_create(library().id("H5T_NATIVE_INT8_g")));
  const signed char no = 0, yes = 1;
  checked(library().H5Tenum_insert(made.get(), "FALSE", &no));
  checked(library().H5Tenum_insert(made.get(), "TRUE", &yes));
  return made;
}

Handle characters_type(int64_t bytes, int encoding) {
  Handle made = copy_of("H5T_C_S1_g");
  checked(library().H5Tset_size(made.get(), static_cast<size_t>(bytes)));
  checked(library().H5Tset_cset(made.get(), encoding));
  return made;
}

Handle fixed_text_type(int64_t bytes, int encoding) {
  Handle made = characters_type(bytes, encoding);
  checked(library().H5Tset_strpad(made.get(), H5T_STR_NULLPAD));
  return made;
}

Handle variable_text_type() {
  Handle made = copy_of("H5T_C_S1_g");
  checked(library().H5Tset_size(made.get(), H5T_VARIABLE));
  checked(library().H5Tset_cset(made.get(), H5T_CSET_UTF8));
  return made;
}

Handle opaque_type(int64_t bytes, const std::string& tag) {
  Handle made(library().H5Tcreate(H5T_OPAQUE, static_cast<size_t>(bytes)));
  checked(library().H5Tset_tag(made.get(), tag.c_str()));
  return made;
}

Handle stored_type(const ElementType& type) {
  if (type.is_text()) return variable_text_type();
  if (!has_possible_size(type)) refuse(type);
  switch (type.kind) {
    case 'i':
    case 'u':
      return integer_type(type);
    case 'f':
      return float_type(type);
    case 'c':
      return complex_type(type);
    case 'b':
      return boolean_type();
    case 'S':
      return fixed_text_type(type.bytes, H5T_CSET_ASCII);
    case 'V':
      return type.is_structure() ? structure_type(type) : opaque_type(type.bytes, "");
    default:
      refuse(type);
  }
}

void check_is_of_netcdf4(const ElementType& type) {
  if (type.is_text()) return;
  const bool is_number = (type.kind == 'i' || type.kind == 'u' || (type.kind == 'f' && type.bytes >= 4)) &&
                         (type.bytes == 1 || type.bytes == 2 || type.bytes == 4 || type.bytes == 8);
  if (is_number || (type.kind == 'S' && type.bytes == 1)) return;
  fail_argument("netCDF-4 cannot store dtype " + type.words() +
                "; it stores integers and floats of 8 to 64 bits (no float16, bool or complex numbers), and single "
                "characters ('S1'); convert, or create an .h5 file");
}

}  // namespace swath::formats::hdf5
