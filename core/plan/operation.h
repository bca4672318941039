// One read or write as data: which array, which of its elements go to which rank, in which direction, how.
//
// Its bytes are canonical and versioned: equal operations have equal bytes, on every machine. A hash of them is what
// ranks compare, they are the key of the plan cache, and they parse back to an equal operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/direction.h"
#include "layout/layout.h"
#include "plan/request.h"
#include "plan/tuning.h"
#include "space/decomposition.h"

namespace swath {

// What an operation must know of the array: everything that decides which bytes it moves.
class ArrayForm {
 public:
  // `identity`: which array it is, in words that are the same on all ranks and no others'. `layout` is null where no
  // plan moves the bytes: coded chunks, and what goes through a format's library; `identity` then tells them apart.
  ArrayForm(std::string identity, Shape shape, int64_t element_bytes, std::shared_ptr<const Layout> layout);

  const std::string& identity() const { return identity_; }
  const Shape& shape() const { return shape_; }
  int64_t element_bytes() const { return element_bytes_; }
  const std::shared_ptr<const Layout>& layout() const { return layout_; }
  int64_t bytes() const { return element_count(shape_) * element_bytes_; }

  uint64_t key() const { return key_; }
  void write(ByteWriter& writer) const;
  static ArrayForm read(ByteReader& reader);

 private:
  std::string identity_;
  Shape shape_;
  int64_t element_bytes_;
  std::shared_ptr<const Layout> layout_;
  uint64_t key_;
};

// Never changes; may be carried out any number of times.
class Operation {
 public:
  struct Access {
    Direction direction = Direction::kRead;
    Decomposition decomposition;
    Method method = Method::kAuto;
    TuningSettings tuning;
    Method inner = Method::kAuto;  // of two-phase (plan/method.h)
  };

  // Throws Error{kArgument} where the two do not go together, or the tuning is not known.
  Operation(std::shared_ptr<const ArrayForm> array, Access access);

  const ArrayForm& array() const { return *array_; }
  Direction direction() const { return access_.direction; }
  const Decomposition& decomposition() const { return access_.decomposition; }
  Method method() const { return access_.method; }
  Method inner() const { return access_.inner; }
  const TuningSettings& tuning() const { return access_.tuning; }

  // What all ranks know before they meet, as bytes: all but the array, and the boxes or the view that each rank has.
  const std::vector<std::byte>& access_bytes() const { return access_bytes_; }
  // A hash of the array and of the access: equal on all ranks that ask for the same.
  uint64_t key() const { return key_; }

  // The same with the boxes, or views, of all ranks (Decomposition::share_bytes_of).
  Operation with_gathered(const std::vector<std::vector<std::byte>>& gathered_by_rank) const;
  Operation with_decomposition(Decomposition decomposition) const;
  // The same of an array that is stored otherwise.
  Operation of(std::shared_ptr<const ArrayForm> array) const { return {std::move(array), access_}; }

  // The whole operation.
  std::vector<std::byte> serialise() const;
  // Throws Error{kFormat} for anything that serialise() has not made.
  static Operation parse(std::span<const std::byte> bytes);
  // The same of its parts, as traces have them: ArrayForm::write, access_bytes(), and, of boxes and views, each rank's
  // Decomposition::share_bytes_of.
  static Operation parse_parts(std::span<const std::byte> array, std::span<const std::byte> access,
                               const std::vector<std::vector<std::byte>>& shares);

  // For people: what is done to which array, then an argument a line (comm/agreement.h).
  std::string words() const;

 private:
  static Operation read(ByteReader& reader);
  void write_access(ByteWriter& writer, bool with_gathered) const;

  std::shared_ptr<const ArrayForm> array_;
  Access access_;
  std::vector<std::byte> access_bytes_;
  uint64_t key_ = 0;
};

std::string to_string(Direction direction);  // "read", "write"

// What an operation asks for; what only the ranks, the file and the store can tell is to be added.
Request request_of(const Operation& operation);

}  // namespace swath
