// HDF5's filters as codecs: what a dataset says was done to its chunks.
//
// Sources: HDF5's filter pipeline, and of the registered filters how each takes its numbers (32001 Blosc, 32004 LZ4,
// 32015 Zstandard).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chunks/codec.h"
#include "formats/hdf5/calls.h"

namespace swath::formats::hdf5 {

inline constexpr int kDeflate = 1, kShuffle = 2, kFletcher32 = 3, kBlosc = 32001, kLz4 = 32004, kZstd = 32015;

struct Filter {
  int code = 0;
  std::vector<unsigned> numbers = {};
  std::string name = {};
};

// Blosc's number of a compressor: "lz4" is 1. Throws Error{kArgument} for one that it has not.
unsigned blosc_compressor_number(const std::string& compressor);

// The filters of a dataset, by its creation properties, in the order of writing.
std::vector<Filter> filters_of(hid_t properties);
// The same as codecs; none where there is one that Swath does not have: only the library can apply it.
std::optional<std::vector<Codec>> codecs_of(const std::vector<Filter>& filters);

}  // namespace swath::formats::hdf5
