#include "formats/refusals.h"

#include <algorithm>
#include <numeric>
#include <ranges>

#include "base/error.h"

namespace swath::formats {
namespace {

// The strides of a dense array of single bytes; `order` lists its dimensions from slowest to fastest.
Shape strides_of(const Shape& shape, const std::vector<int>& order) {
  Shape strides(shape.size());
  int64_t step = 1;
  for (int axis : std::views::reverse(order)) {
    const auto at = static_cast<size_t>(axis);
    strides[at] = step;
    if (__builtin_mul_overflow(step, std::max<int64_t>(shape[at], 1), &step)) {
      fail_argument("an array of shape " + tuple_text(shape) + " is beyond 64-bit offsets");
    }
  }
  return strides;
}

}  // namespace

std::string tuple_text(const std::vector<int64_t>& numbers) {
  std::string text = "(";
  for (size_t i = 0; i < numbers.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  return text + (numbers.size() == 1 ? ",)" : ")");
}

void refuse_other_orders(const NewArray& array, const std::string& format) {
  if (array.order.empty()) return;
  std::vector<int> c_order(array.order.size());
  std::iota(c_order.begin(), c_order.end(), 0);
  if (strides_of(array.shape, array.order) == strides_of(array.shape, c_order)) return;
  fail_argument(format + " stores arrays in C order only, not with dimensions " +
                tuple_text({array.order.begin(), array.order.end()}) +
                " from slowest to fastest; create a raw file, or a .npy file for order F, or transpose the shape");
}

void refuse_chunks(const NewArray& array, const std::string& format) {
  if (array.chunks) {
    fail_argument("a " + format + " file stores no chunks; leave out chunks=" + tuple_text(*array.chunks) +
                  ", or create .nc4, .h5 or .zarr");
  }
  refuse_codecs(array, format);
}

void refuse_codecs(const NewArray& array, const std::string& format) {
  const auto fail = [&](const std::string& argument, const std::string& others) {
    fail_argument(argument + "=: Swath creates none in " + format + " files; create " + others + "a .zarr store");
  };
  if (array.shards) fail("shards", "");
  if (array.codecs) fail("codecs", ".nc4, .h5 or ");
}

}  // namespace swath::formats
