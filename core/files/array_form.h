// Where an array's bytes are, as a format describes it, in the words of operations.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "chunks/coded_array.h"
#include "formats/description.h"
#include "plan/operation.h"

namespace swath {

// Which array it is, and where its bytes are: ranks compare it. `path`: the name that the file has when it is complete.
// `number`: of the opening; what is open twice has two states.
std::string identity_of(const formats::Description& description, const std::string& path, int64_t number);

// What an operation must know of the array. Throws Error{kFormat} where its places cannot be.
std::shared_ptr<const ArrayForm> array_form(const formats::Description& description, const std::string& identity);

// The array's chunks where they are coded, else null. Throws Error{kFormat} where they cannot be.
std::shared_ptr<const CodedArray> coded_chunks(const formats::Description& description);

// Whether chunks of an array have places in its file, now or when they are coded.
bool may_have_chunk_table(const formats::Description& description);
// Whether a write of it must have its chunks placed first, or the dataset made longer.
bool has_absent_chunks(const formats::Description& description);

}  // namespace swath
