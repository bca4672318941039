// Operations in memory: addresses of arrays, copies, and redistribution.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "bindings.h"
#include "layout/copy.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace nb = nanobind;
using namespace nb::literals;
using package_types::AnyArray;
using swath::Comm;
using swath::Error;
using swath::ErrorKind;

namespace {

// The places of a view's bytes in an ndarray, relative to element 0. Keeps the ndarray alive.
struct ViewMemory {
  nb::object array;
  swath::Nest nest;
};

swath::LocalMemory memory_of_view(const swath::View& view, const nb::handle& given) {
  const auto& placed = nb::cast<const ViewMemory&>(given);
  if (placed.nest.bytes() != view.bytes()) throw Error(ErrorKind::kInternal, "a view and its memory differ in bytes");
  const StridedMemory place(placed.array);
  swath::LocalMemory memory;
  memory.view = {view, {placed.nest, 0}};
  memory.addresses.push_back(place.address());
  memory.is_packed = placed.nest == swath::Nest::block(view.bytes());
  return memory;
}

}  // namespace

swath::LocalMemory memory_of(const swath::Decomposition& decomposition, int rank, int64_t element_bytes,
                             const package_types::Arrays& arrays) {
  const size_t wanted = decomposition.is_views() ? 1 : decomposition.parts(rank, element_bytes).size();
  if (wanted != arrays.size()) throw Error(ErrorKind::kInternal, "one array a part is needed");
  if (decomposition.is_views()) return memory_of_view(decomposition.view(rank), arrays[0]);
  swath::LocalMemory memory;
  memory.parts = decomposition.parts(rank, element_bytes);
  for (size_t i = 0; i < arrays.size(); ++i) {
    const StridedMemory place(arrays[i]);
    swath::place_in_memory(memory.parts[i], decomposition.selection(), place.strides());
    memory.addresses.push_back(place.address());
    memory.is_packed = memory.is_packed && place.is_packed();
  }
  return memory;
}

namespace {

// One loop for each dimension; the target's fastest dimension is the innermost.
std::vector<swath::CopyLevel> levels_between(const std::vector<int64_t>& shape, const StridedMemory& target,
                                             const StridedMemory& source) {
  std::vector<swath::CopyLevel> levels;
  for (size_t d = 0; d < shape.size(); ++d) levels.push_back({shape[d], source.strides()[d], target.strides()[d]});
  std::stable_sort(levels.begin(), levels.end(), [](const swath::CopyLevel& a, const swath::CopyLevel& b) {
    return std::abs(a.target_stride) > std::abs(b.target_stride);
  });
  return levels;
}

}  // namespace

void bind_memory(nb::module_& m) {
  nb::class_<ViewMemory>(m, "ViewMemory", "Where the bytes of a view are in an ndarray.")
      .def(
          "__init__",
          [](ViewMemory* self, AnyArray array, const swath::Nest& nest) {
            new (self) ViewMemory{std::move(array), nest};
          },
          "array"_a, "nest"_a, "Offsets of the nest count from the array's element 0.");
  m.def(
      "copy_strided",
      [](const AnyArray& target, const AnyArray& source) {
        const StridedMemory to(target);
        const StridedMemory from(source);
        const auto shape = to.shape();
        if (shape != from.shape() || to.element_bytes() != from.element_bytes()) {
          throw Error(ErrorKind::kInternal, "copy_strided needs two arrays of one shape and element size");
        }
        int64_t bytes = to.element_bytes();
        for (const int64_t count : shape) bytes *= count;
        if (bytes == 0) return;
        nb::gil_scoped_release release;
        swath::copy_levels(to.address(), from.address(), to.element_bytes(), levels_between(shape, to, from),
                           swath::target_of(bytes));
      },
      "target"_a, "source"_a,
      "Every element of `source` to its place in `target`, bytes as they are; the two must not overlap.");
  m.def(
      "release_free_memory",
      [] {
#ifdef __GLIBC__
        malloc_trim(0);
#endif
      },
      nb::call_guard<nb::gil_scoped_release>(),
      "Give memory that is free back to the system. Compressors such as blosc allocate buffers for every chunk, and "
      "the C library keeps what they free.");

  m.def(
      "redistribute",
      [](int64_t element_bytes, const swath::Decomposition& from, const swath::Decomposition& to, Comm& comm,
         const package_types::Arrays& source, const package_types::Arrays& target, swath::Progress* watched) {
        const auto before = memory_of(from, comm.rank(), element_bytes, source);
        const auto after = memory_of(to, comm.rank(), element_bytes, target);
        swath::Progress unwatched;
        const Interruptible interruptible(comm);
        return swath::redistribute(element_bytes, {from, before}, {to, after}, comm, {},
                                   watched == nullptr ? unwatched : *watched);
      },
      "element_bytes"_a, "source_decomposition"_a, "target_decomposition"_a, "comm"_a, "source"_a, "target"_a,
      "progress"_a.none() = nb::none());
}
