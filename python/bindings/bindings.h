// The parts of _core with source files of their own.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "comm/comm.h"
#include "method/run.h"
#include "package_types.h"
#include "plan/profile.h"
#include "text.h"

void bind_array(nanobind::module_& m);
void bind_calibrate(nanobind::module_& m);
void bind_chunks(nanobind::module_& m);
void bind_collective_file(nanobind::module_& m);
void bind_comm(nanobind::module_& m);
void bind_counters(nanobind::module_& m);
void bind_file_changes(nanobind::module_& m);
void bind_formats(nanobind::module_& m);
void bind_hdf5(nanobind::module_& m);
void bind_interrupt(nanobind::module_& m);
void bind_journal(nanobind::module_& m);
void bind_memory(nanobind::module_& m);
void bind_model(nanobind::module_& m);
void bind_open_file(nanobind::module_& m);
void bind_plan(nanobind::module_& m);
void bind_profile(nanobind::module_& m);
void bind_simulation(nanobind::module_& m);
void bind_space(nanobind::module_& m);
void bind_store(nanobind::module_& m);
void bind_throttle(nanobind::module_& m);
void bind_trace(nanobind::module_& m);
void bind_write_back(nanobind::module_& m);
void bind_zarr(nanobind::module_& m);

// Releases the interpreter's lock, as nanobind::gil_scoped_release does. If no other rank waits for this one, an
// exception in a signal handler of the program ends the work, and is raised again.
class Interruptible {
 public:
  explicit Interruptible(bool is_alone = true);
  explicit Interruptible(const swath::Comm& comm) : Interruptible(comm.size() == 1) {}

 private:
  std::optional<nanobind::gil_scoped_release> release_;  // first member: its destructor takes the lock last
  std::optional<swath::InterruptScope> scope_;
};

// The error that the other ranks get of an exception in Python code that the core calls. Needs the interpreter's lock.
swath::Error error_of(const nanobind::python_error& raised);

// Python code that the core calls; the caller keeps it alive. Other ranks get an Error of what it raises; a single
// process raises the exception itself again.
class Callback {
 public:
  explicit Callback(const nanobind::handle& code) : code_(code) {}

  bool is_given() const { return !code_.is_none(); }

  // Calls it, and passes the result to `take`, with the interpreter's lock, which was released for the core.
  template <typename Take>
  void call(const Take& take) {
    const nanobind::gil_scoped_acquire acquire;
    try {
      take(code_());
    } catch (nanobind::python_error& raised) {
      swath::Error error = error_of(raised);
      raised_.emplace(std::move(raised));
      throw error;
    }
  }
  // Raises the exception again, if there is one. Needs the interpreter's lock.
  void raise() {
    if (!raised_) return;
    raised_->restore();
    raised_.reset();
    throw nanobind::python_error();
  }

 private:
  const nanobind::handle code_;
  std::optional<nanobind::python_error> raised_;
};

// Makes an object that Python may release: its destructor runs without the interpreter's lock, since it may wait for
// threads that need the lock.
template <typename T>
std::shared_ptr<T> dropped_unlocked(std::shared_ptr<T> object) {
  T* const held = object.get();
  if (held == nullptr) return nullptr;
  return {held, [object = std::move(object)](T*) mutable {
            const nanobind::gil_scoped_release unlocked;
            object.reset();
          }};
}

// If a signal handler has raised during an Interruptible of this thread, raises that exception in Python and returns
// true.
bool raise_from_signal();

// Codec costs from Python: seconds a byte of decoding and of encoding.
inline std::optional<swath::CodecCost> coding_cost(const std::optional<std::pair<double, double>>& seconds) {
  if (!seconds) return std::nullopt;
  return swath::CodecCost{seconds->first, seconds->second};
}

// The memory of an ndarray, by the buffer protocol without its format, which not every dtype has.
class StridedMemory {
 public:
  explicit StridedMemory(const nanobind::handle& array) {
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_STRIDES) != 0) throw nanobind::python_error();
  }
  ~StridedMemory() { PyBuffer_Release(&view_); }
  StridedMemory(const StridedMemory&) = delete;
  StridedMemory& operator=(const StridedMemory&) = delete;

  std::byte* address() const { return static_cast<std::byte*>(view_.buf); }
  bool is_writable() const { return view_.readonly == 0; }
  int64_t element_bytes() const { return view_.itemsize; }
  std::vector<int64_t> shape() const { return {view_.shape, view_.shape + view_.ndim}; }
  std::vector<int64_t> strides() const { return {view_.strides, view_.strides + view_.ndim}; }
  // True if the elements are contiguous in C order.
  bool is_packed() const { return PyBuffer_IsContiguous(&view_, 'C') != 0; }

 private:
  Py_buffer view_;
};

// A rank's parts and their memory. `arrays`: ndarrays, one a part, which the caller keeps alive.
swath::LocalMemory memory_of(const swath::Decomposition& decomposition, int rank, int64_t element_bytes,
                             const package_types::Arrays& arrays);
