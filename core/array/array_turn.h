// Turns of an array's operations: their order among threads and among the arrays of one file. Only for the parts of
// array.h.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "array/array.h"
#include "array/collectively.h"
#include "array/file.h"
#include "base/gate.h"

namespace swath {

// An operation's turn in the order of all calls: at the array's gate and, for a write, among the writes to the file.
// The constructor reserves it, the destructor gives it up. Throws Error{kArgument} if the array is closed, on all ranks
// alike.
class Array::Turn {
 public:
  Turn(Array& array, Gate::Use use, Comm& comm, const std::string& doing) {
    if (use == Gate::Use::kAlone) file_ = array.file();
    take(array.gate_, use);
    if (*at_array_) return;
    const Error closed(ErrorKind::kArgument, doing + " " + array.name_ + ": the array is closed; open the file again");
    agree_on(comm, Question{}, closed, RankInputs{});
  }

  // Waits for the earlier turns.
  void enter() {
    at_array_->enter();
    if (at_file_) at_file_->enter();
  }

 private:
  void take(Gate& gate, Gate::Use use) {
    WriteOrder* const writes = file_ == nullptr ? nullptr : file_->write_order();
    std::unique_lock<std::mutex> both;
    if (writes != nullptr) both = std::unique_lock(writes->taking.get());
    at_array_.emplace(gate, use);
    if (writes != nullptr && *at_array_) at_file_.emplace(writes->gate, Gate::Use::kAlone);
  }

  std::shared_ptr<File> file_;  // of a write
  std::optional<GateReservation> at_array_;
  std::optional<GateReservation> at_file_;
};

// A turn of an operation that is carried out now: the constructor has entered it.
class Array::Passage {
 public:
  Passage(Array& array, Gate::Use use, Comm& comm, const std::string& doing)
      : among_calls_(comm.size() > 1 ? &comm.turn() : nullptr, doing, array.name_), turn_(array, use, comm, doing) {
    turn_.enter();
  }
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;

 private:
  const CollectiveTurnScope among_calls_;
  Turn turn_;
};

}  // namespace swath
