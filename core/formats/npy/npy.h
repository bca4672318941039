// NumPy's .npy files: one array in C or Fortran order after a short header (versions 1.0, 2.0 and 3.0).
//
// Source: NumPy Enhancement Proposal 1, and numpy.lib.format.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "formats/format.h"

namespace swath::formats::npy {

const Format& format();

// The header of a new file, byte for byte as NumPy writes it. Throws Error{kArgument} for what the format cannot store.
std::string new_header(const NewArray& array);

}  // namespace swath::formats::npy
