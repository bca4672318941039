#include "array/known_boxes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "base/bytes.h"
#include "base/hash.h"
#include "comm/gather.h"

namespace swath {
namespace {

constexpr size_t kKept = 4;  // there may be very many boxes

std::vector<std::byte> own_bytes(const Operation& operation, int rank) {
  ByteWriter writer;
  write(operation.decomposition().boxes_of_rank()[static_cast<size_t>(rank)], writer);
  return writer.take();
}

}  // namespace

uint64_t KnownBoxes::key_of(const Operation& operation, int rank) {
  if (!operation.decomposition().is_boxes()) return 0;
  return hash_bytes(own_bytes(operation, rank), static_cast<uint64_t>(rank) + 1);
}

uint64_t KnownBoxes::key_of_all(const Operation& operation) {
  uint64_t key = 0;
  for (int rank = 0; rank < operation.decomposition().ranks(); ++rank) key += key_of(operation, rank);
  return key;
}

Operation KnownBoxes::complete(const Operation& operation, uint64_t key_of_all, Comm& comm) {
  if (operation.decomposition().knows_all_ranks()) return operation;
  const auto found =
      std::find_if(known_.begin(), known_.end(), [&](const auto& one) { return one.first == key_of_all; });
  if (found != known_.end()) {
    std::rotate(found, std::next(found), known_.end());
    return operation.with_decomposition(known_.back().second);
  }
  Operation complete = operation.with_boxes(gather_boxes(operation, comm));
  if (known_.size() == kKept) known_.erase(known_.begin());
  known_.emplace_back(key_of_all, complete.decomposition());
  return complete;
}

std::vector<Boxes> gather_boxes(const Operation& operation, Comm& comm) {
  std::vector<Boxes> boxes;
  for (const auto& bytes : gather_bytes(comm, own_bytes(operation, comm.rank()))) {
    ByteReader reader("boxes of a rank", bytes);
    boxes.push_back(read_boxes(reader, operation.array().shape().size()));
  }
  return boxes;
}

}  // namespace swath
