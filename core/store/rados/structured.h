// Datatype requests: each request describes the regions of one object, and the object class on its server carries it
// out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "layout/access.h"
#include "store/rados/operation.h"
#include "store/structured.h"

namespace swath {

// Why a file's objects cannot take structured requests; empty if they can. Queries the cluster.
std::string class_refusal(const RadosFile& file);

// The memory of a slice's elements: as its regions describe it, or an image of the file.
struct SliceMemory {
  std::byte* address;
  std::optional<int64_t> image_offset;  // file offset of the image
};
SliceMemory memory_of(const StructuredTransfer& structured, const Slice& slice);

// Begins the requests of a slice: one for each object, or several if an object has very many of its bytes. False if the
// description is too long or too deep for a request: then nothing was begun.
bool begin_structured(const RadosFile& file, Direction direction, const Slice& slice, const SliceMemory& memory,
                      Flight& flight);

}  // namespace swath
