// Converts a format's description of an array to the structures that operations use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "chunks/coded_array.h"
#include "formats/description.h"
#include "plan/operation.h"

namespace swath {

// A text that identifies the array and its layout, for comparisons between ranks. `path`: the final path of the file.
// `number`: the number of the opening, since two openings of one file have separate states.
std::string identity_of(const formats::Description& description, const std::string& path, int64_t number);

// The array's layout for operations. Throws Error{kFormat} for impossible offsets.
std::shared_ptr<const ArrayForm> array_form(const formats::Description& description, const std::string& identity);

// The array's coded chunks; null if it has none. Throws Error{kFormat} if they are invalid.
std::shared_ptr<const CodedArray> coded_chunks(const formats::Description& description);

// True if the file has a chunk table for this array, now or once chunks are coded.
bool may_have_chunk_table(const formats::Description& description);
// True if a write must first allocate chunks, or extend the dataset.
bool has_absent_chunks(const formats::Description& description);

}  // namespace swath
