// An array of an open file. Files make them: DataFile::array(), DataFile::add().
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

// Where a part of a rank's share lies in memory: the address of its first element, and how many bytes further the next
// one lies along each of its dimensions, as NumPy would return them; none: packed in C order.
struct PartInMemory {
  std::byte* first = nullptr;
  std::optional<std::vector<int64_t>> strides = std::nullopt;
};
// Of a distribution one part, of boxes as many as there are.
using PartsInMemory = std::vector<PartInMemory>;

// A read or write of an array that may go on in the background. The memory, and the array, must stay until it is done.
class StartedMove {
 public:
  explicit StartedMove(std::optional<Future> future, std::function<void()> finish = {});
  ~StartedMove();
  StartedMove(StartedMove&&) noexcept;
  StartedMove(const StartedMove&) = delete;
  StartedMove& operator=(const StartedMove&) = delete;
  StartedMove& operator=(StartedMove&&) = delete;

  // Collective where the operation is. Once. Throws what it has thrown.
  void wait();

 private:
  std::unique_ptr<Future> future_;  // null: it is done
  std::function<void()> finish_;
};

class FileArray {
 public:
  FileArray(std::weak_ptr<DataFile> file, std::shared_ptr<StoredArray> array);
  ~FileArray();
  FileArray(const FileArray&) = delete;
  FileArray& operator=(const FileArray&) = delete;

  const std::string& path() const { return path_; }  // in the file: "ocean/t"
  // Until the file is changed.
  const formats::Description& description() const;
  const Shape& shape() const;
  const formats::ElementType& type() const;
  // Whether records can be appended to it.
  bool grows() const;
  // For operations with a method, memory and futures of their own.
  Array& array();
  // How reads and writes are carried out from now on: "auto", "sieve", "two-phase/datatype". The same on all ranks.
  // Throws Error{kArgument}.
  void set_method(const std::string& name);

  // Collective over the ranks of the decomposition. This rank's share, its parts one behind the other, each in C order,
  // in the byte order of this machine. Throws Error{kArgument} where the bytes are not those of the share.
  void read(const Decomposition& whose, std::span<std::byte> values);
  void write(const Decomposition& whose, std::span<const std::byte> values);
  // Collective. The next records of all ranks: `distribution` is that of one record (of one that has a dimension less
  // than the array) where `records` is 1, else of so many records together. Where a rank fails, the array is as long as
  // before.
  void append(const Distribution& distribution, std::span<const std::byte> values, int64_t records = 1);

  // The same of memory of any strides. Of what is read no two elements may have the same place.
  void read_placed(const Decomposition& whose, const PartsInMemory& parts);
  void write_placed(const Decomposition& whose, const PartsInMemory& parts);
  void append_placed(const Distribution& distribution, const PartInMemory& part, int64_t records = 1);
  // Collective. The next record, of which each rank has boxes of its own; what nobody has is the fill value.
  void append_boxes(const Boxes& boxes, const PartsInMemory& parts);
  // The same in the background, where that can be; else it is done now (array/array.h).
  StartedMove start(Direction direction, const Decomposition& whose, const PartsInMemory& parts);
  // Collective, while other ranks read, write, append or start: this rank cannot, and says why. Throws, on all alike.
  [[noreturn]] void refuse(const Error& error);
  // The same while other ranks start: they hear of it when they wait.
  StartedMove start_refused(Direction direction, const Error& error);

  // The same of numbers. Throws Error{kArgument}, on all ranks alike, where the elements are of another type.
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

  // Local. How a read or write would be carried out, and what it would cost.
  std::string explain(Direction direction, const Decomposition& whose);

 private:
  // Why only the format's library can move its elements; throws Error{kUnsupported}.
  void refuse_what_the_library_moves(Direction direction) const;
  template <typename Values>
  static formats::ElementType type_in_memory(const Values& /*values*/) {
    return formats::type_of<std::remove_cv_t<std::ranges::range_value_t<Values>>>();
  }
  // `in_memory`: null where the values are bytes.
  void read_as(const formats::ElementType* in_memory, const Decomposition& whose, std::span<std::byte> values);
  void write_as(const formats::ElementType* in_memory, const Decomposition& whose, std::span<const std::byte> values);
  void append_as(const formats::ElementType* in_memory, const Distribution& distribution,
                 std::span<const std::byte> values, int64_t records);
  void check_type(const formats::ElementType* in_memory, const std::string& doing) const;

  // This rank's memory for an operation; throws where it does not go with it.
  using MakeMemory = std::function<LocalMemory(Direction, const Decomposition&)>;
  MakeMemory packed(const formats::ElementType* in_memory, std::span<std::byte> values) const;
  MakeMemory placed(const PartsInMemory& parts) const;
  struct Prepared;
  // Where it fails: tells all ranks, or throws on this one.
  enum class Failing { kTogether, kThrow };
  Prepared prepare(Direction direction, const Decomposition& whose, const MakeMemory& make,
                   Failing failing = Failing::kTogether) const;
  void check_alone(Direction direction, const Decomposition& whose) const;
  void read_into(const Decomposition& whose, const MakeMemory& make);
  void write_from(const Decomposition& whose, const MakeMemory& make);
  void write_unchecked(const Decomposition& whose, const MakeMemory& make);
  // Whose the rows [first, last) are.
  using WhoseRows = std::function<Decomposition(int64_t first, int64_t last)>;
  WhoseRows distributed_rows(const Distribution& distribution, int64_t records) const;
  // `writes_all`: the ranks together write every element of the rows.
  void append_from(const formats::ElementType* in_memory, const WhoseRows& whose_rows, const MakeMemory& make,
                   int64_t records, bool writes_all = true);
  // In the other byte order; `bytes` gets them.
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
