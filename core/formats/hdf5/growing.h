// Room in datasets of a file that is changed: for new rows, and for chunks that have no place in the file yet.
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
  std::optional<int64_t> written_from = {};  // those from there on are written next, or taken away
};

// Rows that were not there yet hold the fill value; coded chunks of them are not stored. Chunks that hold nothing but
// rows from `written_from` on hold whatever the file holds there. `seen`: as the variable was described last. Throws
// Error{kArgument} where there is no such variable, or it does not grow along its first dimension, and MissingFilter.
Description extend(ChangedFile& changed, const std::string& variable, const NewRows& wanted, const Seen& seen);

// Makes a dimension that grows so long, with all variables along it: rows that nobody wrote are the fill value. A
// variable that has more rows keeps them. Throws Error{kArgument} where there is no such dimension.
void set_length(ChangedFile& changed, const std::string& dimension, int64_t rows, DimensionState& state);

// Gives every part of a dataset its place in the file, filled with the fill value. HDF5 writes the fill value over what
// it allocates, which is one sequential pass.
Description allocate(ChangedFile& changed, const Description& description);

// Gives coded chunks room, in place of that which they had, and returns where in the file; nothing is written there.
// The dataset gets the shape of the array where it is shorter.
std::vector<int64_t> place_chunks(ChangedFile& changed, const std::string& variable, const Shape& shape,
                                  std::span<const NewChunk> chunks);

}  // namespace swath::formats::hdf5
