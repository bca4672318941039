// Functions of distributions, and reads and writes with them.
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>

#include "arguments.h"
#include "errors.h"
#include "handles.h"
#include "space/decomposition.h"

namespace swath::c_interface {
namespace {

// The arguments of a read or write.
struct Asked {
  Direction direction;
  const swath_distribution* distribution;
  const swath_slice* slices;
  void* data;
  const int64_t* strides;
};

// The const_cast is safe: a write only reads this memory.
void* unchanged(const void* data) { return const_cast<void*>(data); }

Decomposition whose(const FileArray& array, int ranks, const swath_distribution* distribution,
                    const swath_slice* slices) {
  Selection selection = selection_of(slices, array.shape());
  if (distribution == nullptr) return Decomposition::alone(std::move(selection));
  return Decomposition::distributed(distribution->distribution, std::move(selection), ranks);
}

PartsInMemory memory_of(const Asked& asked, size_t dimensions) {
  return {{static_cast<std::byte*>(asked.data), strides_of(asked.strides, dimensions)}};
}

// Collective if a distribution is given: an error of one rank is thrown on all.
Decomposition whose_of_all(swath_array& handle, const Asked& asked) {
  FileArray& array = *handle.array;
  const int ranks = handle.file->comm->size();
  std::optional<Decomposition> found;
  const auto failure = failure_of([&] { found = whose(array, ranks, asked.distribution, asked.slices); });
  if (!failure) return std::move(*found);
  if (asked.distribution == nullptr || ranks == 1) throw *failure;
  array.refuse(*failure);
}

void move_now(swath_array* handle, const Asked& asked) {
  FileArray& array = *given(handle, "array")->array;
  const Decomposition shares = whose_of_all(*handle, asked);
  const PartsInMemory memory = memory_of(asked, array.shape().size());
  asked.direction == Direction::kRead ? array.read_placed(shares, memory) : array.write_placed(shares, memory);
}

void start(swath_array* handle, const Asked& asked, swath_request** request) {
  FileArray& array = *given(handle, "array")->array;
  const int ranks = handle->file->comm->size();
  std::optional<Decomposition> shares;
  const auto failure = failure_of([&] {
    *given(request, "request") = nullptr;
    shares = whose(array, ranks, asked.distribution, asked.slices);
  });
  if (failure && (asked.distribution == nullptr || ranks == 1)) throw *failure;
  StartedMove started = failure ? array.start_refused(asked.direction, *failure)
                                : array.start(asked.direction, *shares, memory_of(asked, array.shape().size()));
  if (request == nullptr) return started.wait();  // throws the error
  *request = new swath_request{handle->array, std::move(started)};
}

enum class BoxMove { kRead, kWrite, kAppend };

struct AskedBoxes {
  BoxMove move;
  int count;
  const int64_t* begins;
  const int64_t* ends;
  const void* const* data;
  const int64_t* const* strides;
};

std::pair<Boxes, PartsInMemory> boxes_of(const AskedBoxes& asked, size_t dimensions) {
  if (asked.count < 0) fail_argument(std::to_string(asked.count) + " boxes; expected none or more");
  const auto count = static_cast<size_t>(asked.count);
  if (count > 0 && dimensions > 0) {
    given(asked.begins, "begins");
    given(asked.ends, "ends");
  }
  if (count > 0) given(asked.data, "data");
  Boxes boxes;
  PartsInMemory memory;
  for (size_t i = 0; i < count; ++i) {
    const size_t first = i * dimensions;
    boxes.push_back({{asked.begins + first, asked.begins + first + dimensions},
                     {asked.ends + first, asked.ends + first + dimensions}});
    memory.push_back({static_cast<std::byte*>(unchanged(asked.data[i])),
                      strides_of(asked.strides == nullptr ? nullptr : asked.strides[i], dimensions)});
  }
  return {std::move(boxes), std::move(memory)};
}

void move_boxes(swath_array* handle, const AskedBoxes& asked) {
  FileArray& array = *given(handle, "array")->array;
  const Comm& comm = *handle->file->comm;
  std::optional<Decomposition> shares;
  PartsInMemory memory;
  const auto failure = failure_of([&] {
    auto [boxes, parts] = boxes_of(asked, array.shape().size());
    shares = Decomposition::own_boxes(std::move(boxes), comm.rank(), comm.size(), array.shape());
    memory = std::move(parts);
  });
  if (failure) array.refuse(*failure);
  asked.move == BoxMove::kRead ? array.read_placed(*shares, memory) : array.write_placed(*shares, memory);
}

void append_boxes(swath_array* handle, const AskedBoxes& asked) {
  FileArray& array = *given(handle, "array")->array;
  Boxes boxes;
  PartsInMemory memory;
  const auto failure =
      failure_of([&] { std::tie(boxes, memory) = boxes_of(asked, std::max<size_t>(array.shape().size(), 1) - 1); });
  if (failure) array.refuse(*failure);
  array.append_boxes(boxes, memory);
}

// A distribution that gives rank 0 the whole record.
Distribution of_first_rank(size_t dimensions) {
  return Distribution(std::vector<DimensionRule>(dimensions), std::vector<int64_t>(dimensions, 1));
}

DimensionRule rule_of(const swath_rule& rule) {
  switch (rule.kind) {
    case SWATH_WHOLE:
      return {DimensionRule::Kind::kWhole, 0};
    case SWATH_BLOCK:
      return {DimensionRule::Kind::kBlock, rule.block};
    case SWATH_CYCLIC:
      return {DimensionRule::Kind::kCyclic, rule.block == 0 ? 1 : rule.block};
    default:
      fail_argument("rule: kind " + std::to_string(rule.kind) + "; expected SWATH_WHOLE, SWATH_BLOCK or SWATH_CYCLIC");
  }
}

}  // namespace
}  // namespace swath::c_interface

using namespace swath;
using namespace swath::c_interface;

int swath_distribution_create(int ndim, const swath_rule* rules, const int* grid, swath_distribution** distribution) {
  return guarded([&] {
    *given(distribution, "distribution") = nullptr;
    if (ndim < 0 || ndim > SWATH_DIMENSIONS_MAX)
      fail_argument("distribution of " + std::to_string(ndim) + " dimensions");
    std::vector<DimensionRule> found;
    std::vector<int64_t> places;
    for (int d = 0; d < ndim; ++d) {
      found.push_back(rule_of(given(rules, "rules")[d]));
      places.push_back(given(grid, "grid")[d]);
    }
    *distribution = new swath_distribution{Distribution(std::move(found), std::move(places))};
  });
}

void swath_distribution_free(swath_distribution* distribution) { delete distribution; }

int swath_local_shape(const swath_distribution* distribution, int ndim, const int64_t* shape, int rank,
                      int64_t* local) {
  return guarded([&] {
    if (rank < 0) fail_argument("rank " + std::to_string(rank) + ": expected 0 or more");
    const Shape found = given(distribution, "distribution")->distribution.local_shape(shape_of(ndim, shape), rank);
    if (ndim > 0) std::copy(found.begin(), found.end(), given(local, "local"));
  });
}

int swath_read(swath_array* array, const swath_distribution* distribution, const swath_slice* slices, void* data,
               const int64_t* strides) {
  return guarded([&] { move_now(array, {Direction::kRead, distribution, slices, data, strides}); });
}

int swath_write(swath_array* array, const swath_distribution* distribution, const swath_slice* slices, const void* data,
                const int64_t* strides) {
  return guarded([&] { move_now(array, {Direction::kWrite, distribution, slices, unchanged(data), strides}); });
}

int swath_append(swath_array* array, const swath_distribution* distribution, const void* data, const int64_t* strides) {
  return guarded([&] {
    FileArray& known_array = *given(array, "array")->array;
    const size_t dimensions = std::max<size_t>(known_array.shape().size(), 1) - 1;
    const PartInMemory memory{static_cast<std::byte*>(unchanged(data)), strides_of(strides, dimensions)};
    known_array.append_placed(distribution == nullptr ? of_first_rank(dimensions) : distribution->distribution, memory);
  });
}

int swath_read_boxes(swath_array* array, int count, const int64_t* begins, const int64_t* ends, void* const* data,
                     const int64_t* const* strides) {
  return guarded([&] { move_boxes(array, {BoxMove::kRead, count, begins, ends, data, strides}); });
}

int swath_write_boxes(swath_array* array, int count, const int64_t* begins, const int64_t* ends,
                      const void* const* data, const int64_t* const* strides) {
  return guarded([&] { move_boxes(array, {BoxMove::kWrite, count, begins, ends, data, strides}); });
}

int swath_append_boxes(swath_array* array, int count, const int64_t* begins, const int64_t* ends,
                       const void* const* data, const int64_t* const* strides) {
  return guarded([&] { append_boxes(array, {BoxMove::kAppend, count, begins, ends, data, strides}); });
}

int swath_ranks(const swath_array* array, int* rank, int* size) {
  return guarded([&] {
    const Comm& comm = *given(array, "array")->file->comm;
    if (rank != nullptr) *rank = comm.rank();
    if (size != nullptr) *size = comm.size();
  });
}

int swath_refuse(swath_array* array, const char* message) {
  return guarded([&] { given(array, "array")->array->refuse(Error(ErrorKind::kArgument, given(message, "message"))); });
}

int swath_read_async(swath_array* array, const swath_distribution* distribution, const swath_slice* slices, void* data,
                     const int64_t* strides, swath_request** request) {
  return guarded([&] { start(array, {Direction::kRead, distribution, slices, data, strides}, request); });
}

int swath_write_async(swath_array* array, const swath_distribution* distribution, const swath_slice* slices,
                      const void* data, const int64_t* strides, swath_request** request) {
  return guarded([&] { start(array, {Direction::kWrite, distribution, slices, unchanged(data), strides}, request); });
}

int swath_wait(swath_request* request) {
  return guarded([&] {
    const std::unique_ptr<swath_request> owned(given(request, "request"));
    owned->started.wait();
  });
}

int swath_explain(swath_array* array, int write, const swath_distribution* distribution, const swath_slice* slices,
                  char** text) {
  return guarded([&] {
    *given(text, "text") = nullptr;
    FileArray& known_array = *given(array, "array")->array;
    const Decomposition shares = whose(known_array, array->file->comm->size(), distribution, slices);
    const std::string found = known_array.explain(write != 0 ? Direction::kWrite : Direction::kRead, shares);
    auto* memory = static_cast<char*>(std::malloc(found.size() + 1));
    if (memory == nullptr) throw std::bad_alloc();
    std::memcpy(memory, found.c_str(), found.size() + 1);
    *text = memory;
  });
}
