// Stored types of HDF5 as types of elements, as h5py and NumPy have them.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "formats/element_type.h"
#include "formats/hdf5/calls.h"

namespace swath::formats::hdf5 {

// A stored type as elements have it.
struct MappedType {
  enum class Kind { kPlain, kText, kSequence, kReference };
  Kind kind = Kind::kPlain;  // kText: of variable length
  ElementType type = {};
  Shape inner = {};          // of a type that is an array
  bool has_objects = false;  // somewhere in it is text of variable length, a sequence or a reference

  // In messages, as NumPy shows a dtype: "object", "('<i4', (2,))".
  std::string to_string() const;
};

// A stored type that NumPy has no dtype for; says why.
class UnmappedType : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws UnmappedType, CallError.
MappedType map_type(hid_t stored);
// Whether elements are stored byte for byte as NumPy has them: its type, made into one of HDF5, is the stored one.
bool is_stored_as_mapped(hid_t stored);
// The type that elements have in memory once the library has read them: the stored one, but for numbers that NumPy does
// not have, which are converted.
Handle memory_type(hid_t stored);

// The names and numbers of an enumeration, in the order of the file; a number beyond int64 by its bits.
std::vector<std::pair<std::string, int64_t>> members_of(hid_t stored);

}  // namespace swath::formats::hdf5
