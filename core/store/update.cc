#include <algorithm>
#include <memory>

#include "store/engine.h"

namespace swath {

int64_t Engine::read_to_end(const Transfer& piece, Counters& counters) {
  check_batch({&piece, 1});
  const Transfer stored{piece.offset, piece.data, std::clamp<int64_t>(size() - piece.offset, 0, piece.bytes)};
  if (stored.bytes > 0) transfer(Direction::kRead, {&stored, 1}, counters);
  return stored.bytes;
}

// Under a lock on the range. Also without holes: another one's range may hold our bytes among its holes, and would
// write them back as they were before. Then others may write there, and where they are expected they share the lock.
void Engine::update(const Transfer& image, bool has_holes, const std::function<void(std::byte*)>& fill_in,
                    Counters& counters) {
  std::unique_ptr<RangeLock> held;
  if (!has_holes) held = lock_shared(image.offset, image.offset + image.bytes);
  if (held == nullptr) held = lock(image.offset, image.offset + image.bytes);
  counters.locks += held != nullptr;
  if (has_holes) {
    const int64_t stored = std::clamp<int64_t>(size() - image.offset, 0, image.bytes);
    std::fill(image.data + stored, image.data + image.bytes, std::byte{0});
    const Transfer to_end{image.offset, image.data, stored};
    if (stored > 0) transfer(Direction::kRead, {&to_end, 1}, counters);
  }
  fill_in(image.data);
  transfer(Direction::kWrite, {&image, 1}, counters);
}

}  // namespace swath
