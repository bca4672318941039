#include "formats/hdf5/types.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "formats/hdf5/element_types.h"
#include "formats/text.h"

namespace swath::formats::hdf5 {
namespace {

constexpr std::string_view kTagOfNumpy = "NUMPY:";
constexpr int64_t kElementBytesMax = std::numeric_limits<int32_t>::max();  // NumPy's limit

// NumPy's floating-point types on this machine, the smallest first.
struct FloatKind {
  int64_t bytes;
  size_t mantissa_bits;
  int64_t exponent_max, exponent_min;
};
constexpr FloatKind kFloats[] = {
    {2, 10, 16, -14},
    {4, 23, 128, -126},
    {8, 52, 1024, -1022},
    {sizeof(long double), std::numeric_limits<long double>::digits == 64 ? 64 : 112,
     std::numeric_limits<long double>::max_exponent, std::numeric_limits<long double>::min_exponent - 1},
};

bool is_big_endian(hid_t stored) {
  const int order = checked(library().H5Tget_order(stored));
  if (order == H5T_ORDER_LE || order == H5T_ORDER_BE) return order == H5T_ORDER_BE;
  throw UnmappedType("a byte order that it has not");
}

size_t size_of(hid_t stored) {
  const size_t bytes = library().H5Tget_size(stored);
  if (bytes == 0) fail_call();
  return bytes;
}

Handle super_of(hid_t stored) { return Handle(library().H5Tget_super(stored)); }

ElementType number(char kind, size_t bytes, bool big_endian) {
  ElementType type{.kind = kind, .bytes = static_cast<int64_t>(bytes)};
  type.is_big_endian = type.has_byte_order() && big_endian;
  return type;
}

ElementType map_integer(char kind, hid_t stored) {
  const size_t bytes = size_of(stored);
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) {
    throw UnmappedType("integers of " + std::to_string(bytes) + " bytes");
  }
  return number(kind, bytes, is_big_endian(stored));
}

struct FloatFields {
  size_t sign, exponent, exponent_bits, mantissa, mantissa_bits;
};

// The smallest type that holds all values of the stored type.
ElementType map_float(hid_t stored) {
  FloatFields fields = {};
  checked(library().H5Tget_fields(stored, &fields.sign, &fields.exponent, &fields.exponent_bits, &fields.mantissa,
                                  &fields.mantissa_bits));
  const auto bias = static_cast<int64_t>(library().H5Tget_ebias(stored));
  const auto bytes = static_cast<int64_t>(size_of(stored));
  for (const FloatKind& one : kFloats) {
    if (one.bytes >= bytes && fields.mantissa_bits <= one.mantissa_bits && fields.exponent_bits < 62 &&
        (int64_t{1} << fields.exponent_bits) - bias - 1 <= one.exponent_max && 1 - bias >= one.exponent_min) {
      return number('f', static_cast<size_t>(one.bytes), is_big_endian(stored));
    }
  }
  throw UnmappedType("floating-point numbers of " + std::to_string(fields.mantissa_bits) + " bits of mantissa and " +
                     std::to_string(fields.exponent_bits) + " of exponent");
}

ElementType map_complex(hid_t stored) {
  const size_t bytes = size_of(stored);
  if (bytes != 8 && bytes != 16 && bytes != 2 * sizeof(long double)) {
    throw UnmappedType("complex numbers of " + std::to_string(bytes) + " bytes");
  }
  return number('c', bytes, is_big_endian(stored));
}

std::string tag_of(hid_t stored) { return taken_text(library().H5Tget_tag(stored)); }

ElementType map_opaque(hid_t stored) {
  const std::string tag = tag_of(stored);
  if (!tag.starts_with(kTagOfNumpy)) return {.kind = 'V', .bytes = static_cast<int64_t>(size_of(stored))};
  try {
    return ElementType::parse(tag.substr(kTagOfNumpy.size()));
  } catch (const std::exception& error) {
    throw UnmappedType(error.what());
  }
}

MappedType map_string(hid_t stored) {
  const int encoding = checked(library().H5Tget_cset(stored));
  if (encoding != H5T_CSET_ASCII && encoding != H5T_CSET_UTF8) {
    throw UnmappedType("text in an encoding of number " + std::to_string(encoding));
  }
  MappedType found;
  if (checked(library().H5Tis_variable_str(stored)) > 0) {
    found.kind = MappedType::Kind::kText;
    found.type = ElementType::text();
    found.has_objects = true;
  } else {
    found.type = {.kind = 'S', .bytes = static_cast<int64_t>(size_of(stored))};
  }
  return found;
}

MappedType map_reference(hid_t stored) {
  const bool is_known = checked(library().H5Tequal(stored, library().id("H5T_STD_REF_OBJ_g"))) > 0 ||
                        checked(library().H5Tequal(stored, library().id("H5T_STD_REF_DSETREG_g"))) > 0;
  if (!is_known) throw UnmappedType("references of a kind that h5py has not");
  return {.kind = MappedType::Kind::kReference, .type = ElementType::text(), .has_objects = true};
}

Shape array_dims(hid_t stored) {
  std::vector<hsize_t> dims(static_cast<size_t>(checked(library().H5Tget_array_ndims(stored))));
  checked(library().H5Tget_array_dims2(stored, dims.data()));
  return {dims.begin(), dims.end()};
}

// Booleans are an enumeration of FALSE and TRUE, as in h5py.
bool is_boolean(hid_t stored) {
  const auto members = members_of(stored);
  if (members.size() != 2) return false;
  const bool is_first_false = members[0].first == "FALSE";
  const auto& no = members[is_first_false ? 0 : 1];
  const auto& yes = members[is_first_false ? 1 : 0];
  return no == std::pair<std::string, int64_t>("FALSE", 0) && yes == std::pair<std::string, int64_t>("TRUE", 1);
}

struct Member {
  std::string name;
  Handle type;
  int64_t offset;
};

std::vector<Member> fields_of(hid_t stored) {
  std::vector<Member> found;
  const int count = checked(library().H5Tget_nmembers(stored));
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
    found.push_back({taken_text(library().H5Tget_member_name(stored, i)),
                     Handle(library().H5Tget_member_type(stored, i)),
                     static_cast<int64_t>(library().H5Tget_member_offset(stored, i))});
  }
  return found;
}

bool is_complex(const std::vector<Member>& fields, const std::vector<MappedType>& mapped) {
  return fields.size() == 2 && fields[0].name == "r" && fields[1].name == "i" && mapped[0].inner.empty() &&
         mapped[1].inner.empty() && mapped[0].type == mapped[1].type && mapped[0].type.kind == 'f' &&
         mapped[0].type.bytes >= 4;
}

MappedType map_compound(hid_t stored) {
  const std::vector<Member> fields = fields_of(stored);
  std::vector<MappedType> mapped;
  for (const Member& field : fields) mapped.push_back(map_type(field.type.get()));
  MappedType found;
  if (is_complex(fields, mapped)) {
    found.type = number('c', static_cast<size_t>(2 * mapped[0].type.bytes), mapped[0].type.is_big_endian);
    return found;
  }
  found.type = {.kind = 'V', .bytes = static_cast<int64_t>(size_of(stored))};
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!is_utf8(fields[i].name)) throw UnmappedType("the name of field " + std::to_string(i) + " is not UTF-8");
    const int64_t bytes = element_count(mapped[i].inner) * mapped[i].type.bytes;
    if (fields[i].offset + bytes > found.type.bytes) throw UnmappedType("field " + fields[i].name + " is too long");
    found.type.fields.push_back({fields[i].name, mapped[i].type, fields[i].offset, mapped[i].inner});
    found.has_objects = found.has_objects || mapped[i].has_objects;
  }
  return found;
}

MappedType map_array(hid_t stored) {
  MappedType found = map_type(super_of(stored).get());
  Shape dims = array_dims(stored);
  dims.insert(dims.end(), found.inner.begin(), found.inner.end());
  found.inner = std::move(dims);
  return found;
}

MappedType plain(ElementType type) {
  MappedType found;
  found.type = std::move(type);
  return found;
}

// ---- What is stored as NumPy would have it --------------------------------------------------------------------------

Handle fixed_text_as_mapped(hid_t stored) {
  return fixed_text_type(static_cast<int64_t>(size_of(stored)), checked(library().H5Tget_cset(stored)));
}

Handle opaque_as_mapped(hid_t stored) {
  const ElementType type = map_opaque(stored);
  return opaque_type(type.bytes,
                     tag_of(stored).starts_with(kTagOfNumpy) ? std::string(kTagOfNumpy) + type.to_string() : "");
}

bool is_equal(hid_t stored, const Handle& made) { return checked(library().H5Tequal(stored, made.get())) > 0; }

bool is_compound_as_mapped(hid_t stored) {
  const MappedType mapped = map_compound(stored);
  if (mapped.type.kind == 'c') return is_equal(stored, complex_type(mapped.type));
  for (const Member& field : fields_of(stored)) {
    if (!is_stored_as_mapped(field.type.get())) return false;
  }
  return true;
}

// ---- What the library converts to -----------------------------------------------------------------------------------

Handle compound_in_memory(hid_t stored) {
  const MappedType mapped = map_compound(stored);
  if (mapped.type.kind == 'c') return complex_type(mapped.type);
  Handle made(library().H5Tcreate(H5T_COMPOUND, static_cast<size_t>(mapped.type.bytes)));
  for (const Member& field : fields_of(stored)) {
    const Handle of_field = memory_type(field.type.get());
    checked(library().H5Tinsert(made.get(), field.name.c_str(), static_cast<size_t>(field.offset), of_field.get()));
  }
  return made;
}

Handle array_in_memory(hid_t stored) {
  const Handle of_element = memory_type(super_of(stored).get());
  const Shape dims = array_dims(stored);
  const std::vector<hsize_t> lengths(dims.begin(), dims.end());
  return Handle(library().H5Tarray_create2(of_element.get(), static_cast<unsigned>(lengths.size()), lengths.data()));
}

MappedType map_by_class(hid_t stored) {
  switch (checked(library().H5Tget_class(stored))) {
    case H5T_INTEGER:
      return plain(map_integer(checked(library().H5Tget_sign(stored)) == H5T_SGN_NONE ? 'u' : 'i', stored));
    case H5T_BITFIELD:
      return plain(map_integer('u', stored));
    case H5T_FLOAT:
      return plain(map_float(stored));
    case H5T_COMPLEX:
      return plain(map_complex(stored));
    case H5T_STRING:
      return map_string(stored);
    case H5T_OPAQUE:
      return plain(map_opaque(stored));
    case H5T_COMPOUND:
      return map_compound(stored);
    case H5T_REFERENCE:
      return map_reference(stored);
    case H5T_ENUM:
      return is_boolean(stored) ? plain({.kind = 'b', .bytes = 1}) : map_type(super_of(stored).get());
    case H5T_VLEN:
      map_type(super_of(stored).get());  // throws if this is not a known type
      return {.kind = MappedType::Kind::kSequence, .type = ElementType::text(), .has_objects = true};
    case H5T_ARRAY:
      return map_array(stored);
    case H5T_TIME:
      throw UnmappedType("No NumPy equivalent for TypeTimeID exists");
    default:
      throw UnmappedType("No NumPy equivalent for TypeID exists");
  }
}

}  // namespace

std::string MappedType::to_string() const {
  return inner.empty() ? type.words() : "('" + type.to_string() + "', " + swath::to_string(inner) + ")";
}

MappedType map_type(hid_t stored) {
  MappedType found = map_by_class(stored);
  const double bytes =
      std::accumulate(found.inner.begin(), found.inner.end(), static_cast<double>(found.type.bytes),
                      [](double product, int64_t length) { return product * static_cast<double>(length); });
  if (bytes > kElementBytesMax) {
    throw UnmappedType("an element of more than " + std::to_string(kElementBytesMax) + " bytes");
  }
  return found;
}

bool is_stored_as_mapped(hid_t stored) {
  switch (checked(library().H5Tget_class(stored))) {
    case H5T_INTEGER:
      return is_equal(stored, integer_type(map_type(stored).type));
    case H5T_FLOAT:
      return is_equal(stored, float_type(map_type(stored).type));
    case H5T_STRING:
      return checked(library().H5Tis_variable_str(stored)) > 0 || is_equal(stored, fixed_text_as_mapped(stored));
    case H5T_OPAQUE:
      return is_equal(stored, opaque_as_mapped(stored));
    case H5T_COMPOUND:
      return is_compound_as_mapped(stored);
    case H5T_ENUM:
      return is_boolean(stored) ? is_equal(stored, boolean_type()) : is_stored_as_mapped(super_of(stored).get());
    case H5T_ARRAY: {
      const Handle of_element = super_of(stored);
      return library().H5Tget_class(of_element.get()) != H5T_ARRAY && is_stored_as_mapped(of_element.get());
    }
    default:
      return false;
  }
}

Handle memory_type(hid_t stored) {
  const auto mapped = [&] { return map_type(stored).type; };
  switch (checked(library().H5Tget_class(stored))) {
    case H5T_INTEGER:
      return integer_type(mapped());
    case H5T_FLOAT:
      return float_type(mapped());
    case H5T_COMPOUND:
      return compound_in_memory(stored);
    case H5T_ENUM:
      return is_boolean(stored) ? boolean_type() : integer_type(mapped());
    case H5T_ARRAY:
      return array_in_memory(stored);
    default:
      return Handle(library().H5Tcopy(stored));
  }
}

std::vector<std::pair<std::string, int64_t>> members_of(hid_t stored) {
  const Handle base = super_of(stored);
  const bool is_unsigned = library().H5Tget_sign(base.get()) == H5T_SGN_NONE;
  const hid_t wide = library().id(is_unsigned ? "H5T_NATIVE_ULLONG_g" : "H5T_NATIVE_LLONG_g");
  std::vector<std::byte> value(std::max<size_t>(size_of(base.get()), sizeof(int64_t)));
  std::vector<std::pair<std::string, int64_t>> found;
  const int count = checked(library().H5Tget_nmembers(stored));
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
    checked(library().H5Tget_member_value(stored, i, value.data()));
    checked(library().H5Tconvert(base.get(), wide, 1, value.data(), nullptr, H5P_DEFAULT));
    int64_t number = 0;
    std::memcpy(&number, value.data(), sizeof number);
    found.emplace_back(taken_text(library().H5Tget_member_name(stored, i)), number);
  }
  return found;
}

}  // namespace swath::formats::hdf5
