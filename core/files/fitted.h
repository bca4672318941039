// What a new array is in a file: as long as the dimensions that it has there. And what ranks compare of it.
#pragma once

#include <string>

#include "formats/attribute.h"
#include "formats/contents.h"
#include "formats/new_array.h"

namespace swath {

// As netCDF has it: along a dimension that grows the array grows, and is as long as that is.
formats::NewArray fitted(const formats::Contents& contents, formats::NewArray array);

// Equal for equal arrays, and for no others: an argument a line (comm/agreement.h).
std::string words_of(const formats::NewArray& array);
std::string words_of(const formats::Attributes& attributes);

}  // namespace swath
