#include "chunks/shuffle.h"

#include <algorithm>

namespace swath {
namespace {

// Elements of a constant size: the compiler knows all distances, and uses vector instructions.
template <size_t kBytes>
void unshuffle_fixed(const std::byte* shuffled, std::byte* elements, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    for (size_t b = 0; b < kBytes; ++b) elements[i * kBytes + b] = shuffled[b * count + i];
  }
}

template <size_t kBytes>
void shuffle_fixed(const std::byte* elements, std::byte* shuffled, size_t count) {
  for (size_t b = 0; b < kBytes; ++b) {
    for (size_t i = 0; i < count; ++i) shuffled[b * count + i] = elements[i * kBytes + b];
  }
}

}  // namespace

void shuffle_bytes(std::span<const std::byte> elements, std::span<std::byte> shuffled, int64_t element_bytes) {
  const auto size = static_cast<size_t>(std::max<int64_t>(element_bytes, 1));
  const size_t count = elements.size() / size;
  std::copy(elements.begin() + static_cast<std::ptrdiff_t>(count * size), elements.end(),
            shuffled.begin() + static_cast<std::ptrdiff_t>(count * size));
  if (size == 2) return shuffle_fixed<2>(elements.data(), shuffled.data(), count);
  if (size == 4) return shuffle_fixed<4>(elements.data(), shuffled.data(), count);
  if (size == 8) return shuffle_fixed<8>(elements.data(), shuffled.data(), count);
  for (size_t b = 0; b < size; ++b) {
    for (size_t i = 0; i < count; ++i) shuffled[b * count + i] = elements[i * size + b];
  }
}

void unshuffle_bytes(std::span<const std::byte> shuffled, std::span<std::byte> elements, int64_t element_bytes) {
  const auto size = static_cast<size_t>(std::max<int64_t>(element_bytes, 1));
  const size_t count = elements.size() / size;
  std::copy(shuffled.begin() + static_cast<std::ptrdiff_t>(count * size), shuffled.end(),
            elements.begin() + static_cast<std::ptrdiff_t>(count * size));
  if (size == 2) return unshuffle_fixed<2>(shuffled.data(), elements.data(), count);
  if (size == 4) return unshuffle_fixed<4>(shuffled.data(), elements.data(), count);
  if (size == 8) return unshuffle_fixed<8>(shuffled.data(), elements.data(), count);
  for (size_t b = 0; b < size; ++b) {
    for (size_t i = 0; i < count; ++i) elements[i * size + b] = shuffled[b * count + i];
  }
}

}  // namespace swath
