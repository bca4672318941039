// What formats cannot store, said in the same words by all of them. Each throws Error{kArgument}.
#pragma once

#include <string>
#include <vector>

#include "formats/new_array.h"
#include "space/distribution.h"

namespace swath::formats {

// Unless the elements follow each other in C order.
void refuse_other_orders(const NewArray& array, const std::string& format);
// Where it has chunks, or what only chunks have.
void refuse_chunks(const NewArray& array, const std::string& format);
// Where it asks for shards or codecs.
void refuse_codecs(const NewArray& array, const std::string& format);

// "(2, 3)", "(2,)", "()", as Python shows a tuple.
std::string tuple_text(const std::vector<int64_t>& numbers);

}  // namespace swath::formats
