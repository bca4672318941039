#include <algorithm>

#include "store/engine.h"

namespace swath {

// Under a lock on the range alone. Also without holes: another one's range may hold our bytes among its holes, and
// would write them back as they were before.
void Engine::update(const Transfer& image, bool has_holes, const std::function<void(std::byte*)>& fill_in,
                    Counters& counters) {
  const auto held = lock(image.offset, image.offset + image.bytes);
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
