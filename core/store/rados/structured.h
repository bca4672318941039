// Datatype requests: what regions have of each object is described to the object class there, and carried out by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "layout/access.h"
#include "store/rados/operation.h"
#include "store/structured.h"

namespace swath {

// Whether the objects of a file may be asked by structure: empty, or in words why not. Asks the cluster.
std::string class_refusal(const RadosFile& file);

// Where the elements of a slice are in memory: places that its regions name, or an image of the file.
struct SliceMemory {
  std::byte* address;
  std::optional<int64_t> image_offset;  // of the image, in the file
};
SliceMemory memory_of(const StructuredTransfer& structured, const Slice& slice);

// Begins the requests that a slice takes, one for each object unless it has very much of it. False where its
// description would be too long for a request, or too deep: nothing was begun then.
bool begin_structured(const RadosFile& file, Direction direction, const Slice& slice, const SliceMemory& memory,
                      Flight& flight);

}  // namespace swath
