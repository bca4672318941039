// Converts HDF5's filters to codecs: how the chunks of a dataset are coded.
//
// Sources: HDF5's filter pipeline, and the parameters of the registered filters (32001 Blosc, 32004 LZ4, 32015
// Zstandard).
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

// Blosc's number of a compressor: "lz4" is 1. Throws Error{kArgument} if Blosc has no such compressor.
unsigned blosc_compressor_number(const std::string& compressor);

// The filters of a dataset from its creation properties, in the order of writing.
std::vector<Filter> filters_of(hid_t properties);
// The filters as codecs; none if Swath lacks one: then only the library can decode the chunks.
std::optional<std::vector<Codec>> codecs_of(const std::vector<Filter>& filters);

}  // namespace swath::formats::hdf5
