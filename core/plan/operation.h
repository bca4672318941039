// One read or write as data: the array, which elements go to which rank, the direction, and the method.
//
// Its bytes are canonical and versioned: equal operations have equal bytes, on every machine. Ranks compare a hash of
// the bytes, the plan cache uses it as its key, and the bytes parse back to an equal operation.
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

// The part of an array's description that decides which bytes an operation moves.
class ArrayForm {
 public:
  // `identity`: names the array by words that are the same on all ranks, and that no other array has. `layout` is null
  // if no plan moves the bytes (coded chunks, and arrays read by a format's library).
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

// Immutable; may be carried out any number of times.
class Operation {
 public:
  struct Access {
    Direction direction = Direction::kRead;
    Decomposition decomposition;
    Method method = Method::kAuto;
    TuningSettings tuning;
    Method inner = Method::kAuto;  // of two-phase (plan/method.h)
  };

  // Throws Error{kArgument} if the two do not match, or for an unknown tuning name.
  Operation(std::shared_ptr<const ArrayForm> array, Access access);

  const ArrayForm& array() const { return *array_; }
  Direction direction() const { return access_.direction; }
  const Decomposition& decomposition() const { return access_.decomposition; }
  Method method() const { return access_.method; }
  Method inner() const { return access_.inner; }
  const TuningSettings& tuning() const { return access_.tuning; }

  // The bytes of what all ranks know before they meet: everything but the array and each rank's boxes or view.
  const std::vector<std::byte>& access_bytes() const { return access_bytes_; }
  // A hash of the array and of the access: equal on all ranks that ask for the same operation.
  uint64_t key() const { return key_; }

  // The same with the boxes, or views, of all ranks (Decomposition::share_bytes_of).
  Operation with_gathered(const std::vector<std::vector<std::byte>>& gathered_by_rank) const;
  Operation with_decomposition(Decomposition decomposition) const;
  // The same operation on another form of the array.
  Operation of(std::shared_ptr<const ArrayForm> array) const { return {std::move(array), access_}; }

  // The whole operation.
  std::vector<std::byte> serialise() const;
  // Throws Error{kFormat} for bytes that serialise() has not made.
  static Operation parse(std::span<const std::byte> bytes);
  // The same of its parts, as traces have them: ArrayForm::write, access_bytes(), and, of boxes and views, each rank's
  // Decomposition::share_bytes_of.
  static Operation parse_parts(std::span<const std::byte> array, std::span<const std::byte> access,
                               const std::vector<std::vector<std::byte>>& shares);

  // A text for messages: the direction and the array, then one argument a line (comm/agreement.h).
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

// The request for an operation; the caller adds the inputs of the ranks, the file and the store.
Request request_of(const Operation& operation);

}  // namespace swath
