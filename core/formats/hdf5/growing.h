// Allocates space in datasets of a file that is changed: for new rows, and for chunks that are not stored yet.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "chunks/new_chunk.h"
#include "formats/description.h"
#include "formats/format.h"
#include "formats/hdf5/changed_file.h"
#include "formats/hdf5/scales.h"

namespace swath::formats::hdf5 {

// HDF5 codes chunks, and has not the filter.
class MissingFilter final : public Error {
 public:
  using Error::Error;
};

// What registers further filters with the library; returns false where there are none.
void set_filter_provider(bool (*provide)());
bool provide_filters();

// Does `work` once more where it needs a filter that is registered only then. No lock of the library is held then.
template <typename Work>
auto with_provided_filters(const Work& work) {
  try {
    return work();
  } catch (const MissingFilter&) {
    if (!provide_filters()) throw;
  }
  return work();
}

struct NewRows {
  int64_t rows = 0;
  std::optional<int64_t> written_from = {};  // the caller writes or removes the rows from this one on
};

// New rows have the fill value; coded chunks of them are not stored. The content of chunks with rows from
// `written_from` on only is undefined. `seen`: the last description of the variable. Throws Error{kArgument} if there
// is no such variable, or if it does not grow along its first dimension.
Description extend(ChangedFile& changed, const std::string& variable, const NewRows& wanted, const Seen& seen);

// Extends a dimension, and all variables along it, to this length; new rows have the fill value. A variable with more
// rows keeps them. Throws Error{kArgument} if there is no such dimension.
void set_length(ChangedFile& changed, const std::string& dimension, int64_t rows);

// Allocates and fills all parts of a dataset that are not in the file. HDF5 writes the fill value to the space that it
// allocates, in one sequential pass.
Description allocate(ChangedFile& changed, const Description& description);

// Allocates space for coded chunks, in place of their old space, and returns the offsets; nothing is written there. The
// dataset gets the shape of the array if it is smaller.
std::vector<int64_t> place_chunks(ChangedFile& changed, const std::string& variable, const Shape& shape,
                                  std::span<const NewChunk> chunks);

}  // namespace swath::formats::hdf5
