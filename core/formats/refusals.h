// Errors for what formats cannot store, with the same text in all formats. Each function throws Error{kArgument}.
#pragma once

#include <string>
#include <vector>

#include "formats/new_array.h"
#include "space/distribution.h"

namespace swath::formats {

// Throws unless the elements follow each other in C order.
void refuse_other_orders(const NewArray& array, const std::string& format);
// Throws if the array has chunks, or options that only chunks have.
void refuse_chunks(const NewArray& array, const std::string& format);
// Throws if the array has shards or codecs.
void refuse_codecs(const NewArray& array, const std::string& format);

// "(2, 3)", "(2,)", "()", as Python shows a tuple.
std::string tuple_text(const std::vector<int64_t>& numbers);

}  // namespace swath::formats
