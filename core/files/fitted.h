// Adapts a new array to the dimensions of its file, and describes it as text for comparisons between ranks.
#pragma once

#include <string>

#include "formats/attribute.h"
#include "formats/contents.h"
#include "formats/new_array.h"

namespace swath {

// As in netCDF: along an unlimited dimension the array can grow, and gets the dimension's current length.
formats::NewArray fitted(const formats::Contents& contents, formats::NewArray array);

// Different arrays have different texts. Each argument is on a line of its own (comm/agreement.h).
std::string words_of(const formats::NewArray& array);
std::string words_of(const formats::Attributes& attributes);

}  // namespace swath
