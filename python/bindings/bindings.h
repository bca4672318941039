// The parts of _core that have a file of their own.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
void bind_comm(nanobind::module_& m);
void bind_counters(nanobind::module_& m);
void bind_file_changes(nanobind::module_& m);
void bind_files(nanobind::module_& m);
void bind_formats(nanobind::module_& m);
void bind_hdf5(nanobind::module_& m);
void bind_interrupt(nanobind::module_& m);
void bind_journal(nanobind::module_& m);
void bind_memory(nanobind::module_& m);
void bind_model(nanobind::module_& m);
void bind_open_file(nanobind::module_& m);
void bind_plan(nanobind::module_& m);
void bind_profile(nanobind::module_& m);
void bind_space(nanobind::module_& m);
void bind_store(nanobind::module_& m);
void bind_throttle(nanobind::module_& m);
void bind_write_back(nanobind::module_& m);
void bind_zarr(nanobind::module_& m);

// Lets go of the interpreter's lock, as nanobind::gil_scoped_release does. Where no other rank waits for this one, what
// is done meanwhile ends when a signal handler of the program raises, and raises the same.
class Interruptible {
 public:
  explicit Interruptible(bool is_alone = true);
  explicit Interruptible(const swath::Comm& comm) : Interruptible(comm.size() == 1) {}

 private:
  std::optional<nanobind::gil_scoped_release> release_;  // first, so that the lock is there again last
  std::optional<swath::InterruptScope> scope_;
};

// What Python code has raised that the core calls, for the other ranks. With the interpreter's lock.
swath::Error error_of(const nanobind::python_error& raised);

// Where a signal handler has raised during what an Interruptible of this thread was for: raises that (in Python), true.
bool raise_from_signal();

// What Python says of coding: seconds a byte of decoding and of encoding.
inline std::optional<swath::CodecCost> coding_cost(const std::optional<std::pair<double, double>>& seconds) {
  if (!seconds) return std::nullopt;
  return swath::CodecCost{seconds->first, seconds->second};
}

// Where an ndarray is in memory. By the buffer protocol without its format, which not every dtype has.
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
  // Whether its elements lie one behind the other, the last dimension fastest.
  bool is_packed() const { return PyBuffer_IsContiguous(&view_, 'C') != 0; }

 private:
  Py_buffer view_;
};

// A rank's parts and where they are. `arrays`: ndarrays, one a part, which the caller keeps alive.
swath::LocalMemory memory_of(const swath::Decomposition& decomposition, int rank, int64_t element_bytes,
                             const package_types::Arrays& arrays);
