// A whole format in few lines, to copy: one array in C order behind a line of text. It is compiled into the tests only,
// which it joins by add_format(). CONTRIBUTING.md says how a copy becomes a format of the library.
//
//     SKELETON <f8 3 4\n   the type and the lengths; then spaces up to a multiple of 64 bytes, then the elements
#pragma once

#include "formats/format.h"

namespace swath::formats::skeleton {

const Format& format();

}  // namespace swath::formats::skeleton
