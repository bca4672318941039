// What a file holds when an array was added to it.
#pragma once

#include "formats/contents.h"
#include "formats/description.h"

namespace swath::formats {

// One more variable, its groups, and the dimensions that it is the first to have.
void add_to(Contents& contents, const Description& added);

}  // namespace swath::formats
