// Arrays in files without a header: whoever opens one says what is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "array/array.h"
#include "array/file.h"
#include "comm/comm.h"
#include "store/engine.h"

namespace swath {

struct RawArray {
  std::string path;
  Shape shape;
  int64_t element_bytes = 1;
  int64_t offset = 0;      // bytes before the first element
  std::vector<int> order;  // dimensions from slowest to fastest; empty: C
};

// Collective. Throws, on all ranks alike: Error{kArgument} for what cannot be an array, Error{kStore} where the system
// refuses the file, Error{kFormat} where it is too short, Error{kDisagreement} where ranks ask for different arrays.
std::unique_ptr<Array> open_raw(std::shared_ptr<Comm> comm, const RawArray& raw, OpenMode mode,
                                const FileOptions& options = {});

struct NewRawArray {
  RawArray array;
  std::vector<std::byte> fill;  // one element: what those hold that are never written; empty: zero bytes
  bool overwrite = false;       // the name may be taken from an existing file
};

// Collective. The file gets its name when the array is closed (Array::close); without that nothing is left of it.
// Throws as open_raw() does, and Error{kStore} with EEXIST where the file exists and must stay.
std::unique_ptr<Array> create_raw(std::shared_ptr<Comm> comm, const NewRawArray& raw, const FileOptions& options = {});

}  // namespace swath
