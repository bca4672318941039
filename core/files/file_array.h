// An array of an open file. Files make them: DataFile::array(), DataFile::add().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>

#include "base/direction.h"
#include "formats/element_type.h"
#include "space/decomposition.h"

namespace swath {

class Array;
class DataFile;
class File;

namespace formats {
struct Description;
}  // namespace formats

// A vector, an array or a span of numbers.
template <typename Values>
concept NumbersInMemory = std::ranges::contiguous_range<Values> && std::ranges::sized_range<Values> &&
                          formats::NumberOfElements<std::remove_cv_t<std::ranges::range_value_t<Values>>>;

class FileArray {
 public:
  FileArray(std::weak_ptr<DataFile> file, formats::Description description, std::unique_ptr<Array> array);
  ~FileArray();
  FileArray(const FileArray&) = delete;
  FileArray& operator=(const FileArray&) = delete;

  const std::string& path() const { return path_; }  // in the file: "ocean/t"
  const formats::Description& description() const { return *description_; }
  const Shape& shape() const;
  const formats::ElementType& type() const;
  // Whether records can be appended to it.
  bool grows() const;
  // For operations with a method, memory and futures of their own.
  Array& array() { return *array_; }

  // Collective over the ranks of the decomposition. This rank's share, its parts one behind the other, each in C order,
  // in the byte order of this machine. Throws Error{kArgument} where the bytes are not those of the share.
  void read(const Decomposition& whose, std::span<std::byte> values);
  void write(const Decomposition& whose, std::span<const std::byte> values);
  // Collective. The next records of all ranks: `distribution` is that of one record (of one that has a dimension less
  // than the array) where `records` is 1, else of so many records together. Where a rank fails, the array is as long as
  // before.
  void append(const Distribution& distribution, std::span<const std::byte> values, int64_t records = 1);

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
  friend class DataFile;

  // Whether Swath moves its elements by itself, not by the format's library.
  bool is_moved_by_us() const;
  // Collective, in a write: gives all of its elements a place.
  void relocate(DataFile& file);
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
  // It is stored so from now on, in that file.
  void become(formats::Description description, const std::string& identity, std::shared_ptr<File> file);
  void move(Direction direction, const formats::ElementType* in_memory, const Decomposition& whose,
            std::span<std::byte> values);
  void write_unchecked(const formats::ElementType* in_memory, const Decomposition& whose,
                       std::span<const std::byte> values);
  void fill_rows(int64_t first, int64_t last);
  int rank_in(const Decomposition& whose) const;
  std::shared_ptr<DataFile> file(const char* doing) const;

  const std::weak_ptr<DataFile> file_;
  const std::string path_;
  const std::string name_;  // in messages
  std::unique_ptr<formats::Description> description_;
  std::unique_ptr<Array> array_;
};

}  // namespace swath
