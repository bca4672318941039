// An array of an open file, made by DataFile::array() and DataFile::add().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include "base/direction.h"
#include "base/error.h"
#include "formats/element_type.h"
#include "space/decomposition.h"

namespace swath {

class Array;
class DataFile;
class Future;
class StoredArray;
struct LocalMemory;
struct MethodChoice;

namespace formats {
struct Description;
}  // namespace formats

// A vector, an array or a span of numbers.
template <typename Values>
concept NumbersInMemory = std::ranges::contiguous_range<Values> && std::ranges::sized_range<Values> &&
                          formats::NumberOfElements<std::remove_cv_t<std::ranges::range_value_t<Values>>>;

// Memory of one part of a rank's share: the address of the first element, and the strides in bytes along the dimensions
// of the part as NumPy would return it. No strides: packed in C order.
struct PartInMemory {
  std::byte* first = nullptr;
  std::optional<std::vector<int64_t>> strides = std::nullopt;
};
// A distribution has one part; boxes have one part each.
using PartsInMemory = std::vector<PartInMemory>;

// A started read or write, which may run in the background. Its memory and its array must stay valid until wait()
// returns.
class StartedMove {
 public:
  explicit StartedMove(std::optional<Future> future, std::function<void()> finish = {});
  ~StartedMove();
  StartedMove(StartedMove&&) noexcept;
  StartedMove(const StartedMove&) = delete;
  StartedMove& operator=(const StartedMove&) = delete;
  StartedMove& operator=(StartedMove&&) = delete;

  // Collective if the operation is. To be called once. Throws the operation's error.
  void wait();

 private:
  std::unique_ptr<Future> future_;  // null: done already
  std::function<void()> finish_;
};

class FileArray {
 public:
  FileArray(std::weak_ptr<DataFile> file, std::shared_ptr<StoredArray> array);
  ~FileArray();
  FileArray(const FileArray&) = delete;
  FileArray& operator=(const FileArray&) = delete;

  const std::string& path() const { return path_; }  // in the file: "ocean/t"
  // The reference is valid until the file is changed.
  const formats::Description& description() const;
  const Shape& shape() const;
  const formats::ElementType& type() const;
  // True if records can be appended.
  bool grows() const;
  // Gives access to operations with a chosen method, other memory, or futures.
  Array& array();
  // Sets the method of later reads and writes: "auto", "sieve", "two-phase/datatype". Must be the same on all ranks.
  // Throws Error{kArgument}.
  void set_method(const std::string& name);

  // Collective over the ranks of the decomposition. `values`: this rank's share, its parts one after another, each in C
  // order, in this machine's byte order. Throws Error{kArgument} if the number of bytes is wrong.
  void read(const Decomposition& whose, std::span<std::byte> values);
  void write(const Decomposition& whose, std::span<const std::byte> values);
  // Collective. Appends records. If `records` is 1, `distribution` is that of one record, which has one dimension less
  // than the array; else it is that of all these records together. If a rank fails, the array keeps its length.
  void append(const Distribution& distribution, std::span<const std::byte> values, int64_t records = 1);

  // The same with strided memory. In a read, no two elements may overlap.
  void read_placed(const Decomposition& whose, const PartsInMemory& parts);
  void write_placed(const Decomposition& whose, const PartsInMemory& parts);
  void append_placed(const Distribution& distribution, const PartInMemory& part, int64_t records = 1);
  // Collective. Appends one record. Each rank writes its own boxes; elements in no box get the fill value.
  void append_boxes(const Boxes& boxes, const PartsInMemory& parts);
  // Starts read_placed() or write_placed() in the background if possible; otherwise completes it now (array/array.h).
  StartedMove start(Direction direction, const Decomposition& whose, const PartsInMemory& parts);
  // Collective. Called instead of read, write, append or start on a rank that has found an error before. All ranks
  // throw it.
  [[noreturn]] void refuse(const Error& error);
  // The same instead of start(): the other ranks throw in wait().
  StartedMove start_refused(Direction direction, const Error& error);

  // The same with typed values. Throws Error{kArgument} on all ranks if the array has another element type.
  template <NumbersInMemory Values>
  void read(const Decomposition& whose, Values&& values) {
    const formats::ElementType type = type_in_memory(values);
    read_as(&type, whose, std::as_writable_bytes(std::span(values)));
  }
  template <NumbersInMemory Values>
  void write(const Decomposition& whose, const Values& values) {
    const formats::ElementType type = type_in_memory(values);
    write_as(&type, whose, std::as_bytes(std::span(values)));
  }
  template <NumbersInMemory Values>
  void append(const Distribution& distribution, const Values& values, int64_t records = 1) {
    const formats::ElementType type = type_in_memory(values);
    append_as(&type, distribution, std::as_bytes(std::span(values)), records);
  }

  // Local. Describes the plan of a read or write, and its estimated cost.
  std::string explain(Direction direction, const Decomposition& whose);

 private:
  // Throws Error{kUnsupported} with the reason if only the format's library can move the elements.
  void refuse_what_the_library_moves(Direction direction) const;
  template <typename Values>
  static formats::ElementType type_in_memory(const Values& /*values*/) {
    return formats::type_of<std::remove_cv_t<std::ranges::range_value_t<Values>>>();
  }
  // `in_memory`: the element type of the values; null for bytes.
  void read_as(const formats::ElementType* in_memory, const Decomposition& whose, std::span<std::byte> values);
  void write_as(const formats::ElementType* in_memory, const Decomposition& whose, std::span<const std::byte> values);
  void append_as(const formats::ElementType* in_memory, const Distribution& distribution,
                 std::span<const std::byte> values, int64_t records);
  void check_type(const formats::ElementType* in_memory, const std::string& doing) const;

  // Makes this rank's memory for an operation; throws if the memory does not match it.
  using MakeMemory = std::function<LocalMemory(Direction, const Decomposition&)>;
  MakeMemory packed(const formats::ElementType* in_memory, std::span<std::byte> values) const;
  MakeMemory placed(const PartsInMemory& parts) const;
  struct Prepared;
  // On an error: all ranks throw it, or only this one.
  enum class Failing { kTogether, kThrow };
  Prepared prepare(Direction direction, const Decomposition& whose, const MakeMemory& make,
                   Failing failing = Failing::kTogether) const;
  void check_alone(Direction direction, const Decomposition& whose) const;
  void read_into(const Decomposition& whose, const MakeMemory& make);
  void write_from(const Decomposition& whose, const MakeMemory& make);
  void write_unchecked(const Decomposition& whose, const MakeMemory& make);
  // The decomposition of the rows [first, last).
  using WhoseRows = std::function<Decomposition(int64_t first, int64_t last)>;
  WhoseRows distributed_rows(const Distribution& distribution, int64_t records) const;
  // `writes_all`: together, the ranks write every element of the rows.
  void append_from(const formats::ElementType* in_memory, const WhoseRows& whose_rows, const MakeMemory& make,
                   int64_t records, bool writes_all = true);
  // A copy of the memory in the other byte order, stored in `bytes`.
  LocalMemory swapped_copy(const Decomposition& whose, const LocalMemory& memory, std::vector<std::byte>& bytes) const;
  bool may_run_in_background(Direction direction) const;
  bool is_alone(const Decomposition& whose) const;
  bool is_in_byte_order() const;

  int rank_in(const Decomposition& whose) const;
  std::shared_ptr<DataFile> file(const char* doing) const;

  const std::weak_ptr<DataFile> file_;
  const std::string path_;
  const std::string name_;  // in messages
  const std::shared_ptr<StoredArray> array_;
  std::unique_ptr<MethodChoice> method_;
};

}  // namespace swath
