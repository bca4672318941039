// The contents of a file after an array was added to it.
#pragma once

#include "formats/contents.h"
#include "formats/description.h"

namespace swath::formats {

// Adds a variable, its groups, and the dimensions that are new.
void add_to(Contents& contents, const Description& added);

}  // namespace swath::formats
