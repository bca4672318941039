// Converts stored types of HDF5 to types of elements, as h5py and NumPy do.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "formats/element_type.h"
#include "formats/hdf5/calls.h"

namespace swath::formats::hdf5 {

// The type of elements for a stored type.
struct MappedType {
  enum class Kind { kPlain, kText, kSequence, kReference };
  Kind kind = Kind::kPlain;  // kText: of variable length
  ElementType type = {};
  Shape inner = {};          // the shape of an array type
  bool has_objects = false;  // it contains text of variable length, a sequence or a reference

  // For messages, as NumPy shows a dtype: "object", "('<i4', (2,))".
  std::string to_string() const;
};

// NumPy has no dtype for a stored type; the message says why.
class UnmappedType : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws UnmappedType, CallError.
MappedType map_type(hid_t stored);
// Whether the stored bytes of elements are those of NumPy's type.
bool is_stored_as_mapped(hid_t stored);
// The type of elements in memory after the library has read them: the stored type, but numbers that NumPy lacks are
// converted.
Handle memory_type(hid_t stored);

// The names and numbers of an enumeration, in the order of the file; a number beyond int64 is stored by its bits.
std::vector<std::pair<std::string, int64_t>> members_of(hid_t stored);

}  // namespace swath::formats::hdf5
